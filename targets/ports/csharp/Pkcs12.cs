// SPDX-License-Identifier: Apache-2.0
//
// A PKCS #12 file (RFC 7292) of one key and its certificates: the only form in which Mono takes an identity whose key is
// not RSA. The key is encrypted, by the only scheme that Mono's BoringSSL reads, under a password that is no secret.
#if !NET

using System.Collections.Generic;
using System.Linq;
using System.Security.Cryptography;

static class Pkcs12
{
    public const string Password = "pfx";

    const int Block = 64; // of SHA-1
    const byte ForKey = 1, ForIv = 2, ForMac = 3; // RFC 7292 B.3

    static readonly byte[] Salt = new byte[8];
    static readonly byte[] Data = Oid("2a864886f70d010701");
    static readonly byte[] ShroudedKeyBag = Oid("2a864886f70d010c0a0102");
    static readonly byte[] CertBag = Oid("2a864886f70d010c0a0103");
    static readonly byte[] X509 = Oid("2a864886f70d01091601");
    static readonly byte[] Sha1 = Oid("2b0e03021a");
    static readonly byte[] Sha1TripleDes = Oid("2a864886f70d010c0103");

    static byte[] Der(byte tag, params byte[][] parts)
    {
        int length = parts.Sum(part => part.Length);
        byte[] head = length < 0x80 ? new[] { tag, (byte)length }
            : length < 0x100 ? new[] { tag, (byte)0x81, (byte)length }
            : new[] { tag, (byte)0x82, (byte)(length >> 8), (byte)length };
        return head.Concat(parts.SelectMany(part => part)).ToArray();
    }

    static byte[] Oid(string hex) => Der(6, Hex.Decode(hex));
    static byte[] Sequence(params byte[][] parts) => Der(0x30, parts);
    static byte[] Octets(params byte[][] parts) => Der(4, parts);
    static byte[] Explicit(byte[] part) => Der(0xa0, part);
    static byte[] Integer(byte value) => Der(2, new[] { value });
    static byte[] Content(byte[] bytes) => Sequence(Data, Explicit(Octets(bytes)));

    static IEnumerable<byte> Fill(params byte[] bytes) => Enumerable.Range(0, Block).Select(i => bytes[i % bytes.Length]);

    /// <summary>block += other + 1, as large numbers.</summary>
    static void Add(byte[] block, byte[] other)
    {
        int carry = 1;
        for (int i = Block - 1; i >= 0; i--)
        {
            carry += block[i] + other[i];
            block[i] = (byte)carry;
            carry >>= 8;
        }
    }

    /// <summary>RFC 7292 B.2, for one iteration, and a salt and a password of less than a block.</summary>
    static byte[] Derive(byte purpose, int length)
    {
        byte[] password = Password.SelectMany(letter => new[] { (byte)0, (byte)letter }).Concat(new byte[2]).ToArray();
        byte[] salts = Fill(Salt).ToArray(), passwords = Fill(password).ToArray();
        var derived = new List<byte>();
        using (SHA1 hash = SHA1.Create())
        {
            while (derived.Count < length)
            {
                byte[] part = hash.ComputeHash(Fill(purpose).Concat(salts).Concat(passwords).ToArray());
                derived.AddRange(part);
                byte[] next = Fill(part).ToArray();
                Add(salts, next);
                Add(passwords, next);
            }
        }
        return derived.Take(length).ToArray();
    }

    static byte[] Shroud(byte[] privateKey)
    {
        using (TripleDES des = TripleDES.Create())
        using (ICryptoTransform encryptor = des.CreateEncryptor(Derive(ForKey, 24), Derive(ForIv, 8)))
        {
            byte[] text = encryptor.TransformFinalBlock(privateKey, 0, privateKey.Length);
            return Sequence(Sequence(Sha1TripleDes, Sequence(Octets(Salt), Integer(1))), Octets(text));
        }
    }

    public static byte[] Encode(byte[] privateKey, IEnumerable<byte[]> chain)
    {
        var bags = new List<byte[]> { Sequence(ShroudedKeyBag, Explicit(Shroud(privateKey))) };
        bags.AddRange(chain.Select(der => Sequence(CertBag, Explicit(Sequence(X509, Explicit(Octets(der)))))));
        byte[] safe = Sequence(Content(Sequence(bags.ToArray())));
        using (var mac = new HMACSHA1(Derive(ForMac, 20)))
        {
            byte[] digest = Sequence(Sequence(Sha1, Der(5)), Octets(mac.ComputeHash(safe)));
            return Sequence(Integer(3), Content(safe), Sequence(digest, Octets(Salt), Integer(1)));
        }
    }
}
#endif
