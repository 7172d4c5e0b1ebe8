// SPDX-License-Identifier: Apache-2.0
//
// aead. A thread has a slot for each length of tag: in mode reused it keeps the AesGcm, told apart by the key's bytes.
// AesGcm takes nonces of 12 bytes only (AesGcm.NonceByteSizes). Mono has no AES-GCM: its constructor throws
// PlatformNotSupportedException, so that this is UNTESTED: there was no .NET to run it with.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Security.Cryptography;

sealed class Aead : Area
{
    sealed class Slot
    {
        public byte[] Key;
        public AesGcm Gcm;
    }

    readonly Dictionary<string, Slot> slots = new Dictionary<string, Slot>();

    public override IEnumerable<string> Offers()
    {
        bool works = Works(() => Make(new byte[16], 16).Dispose());
        return works ? new[] { "aead.fresh", "aead.reused" } : new string[0];
    }

    public override void Reset()
    {
        foreach (Slot slot in slots.Values)
        {
            slot.Gcm.Dispose();
        }
        slots.Clear();
    }

#if NET8_0_OR_GREATER
    static AesGcm Make(byte[] key, int tagLength) => new AesGcm(key, tagLength);
#else
    static AesGcm Make(byte[] key, int tagLength) => new AesGcm(key);
#endif

    static string Id(Call call) => call["mode"] + call["thread"] + "/" + call["tag-len"];

    void Drop(string thread)
    {
        foreach (string id in slots.Keys.Where(id => id.StartsWith(thread)).ToArray())
        {
            slots[id].Gcm.Dispose();
            slots.Remove(id);
        }
    }

    T With<T>(Call call, Func<AesGcm, T> use)
    {
        byte[] key = call.Bytes("key");
        if (call["mode"] == "fresh")
        {
            using (AesGcm gcm = Make(key, call.Number("tag-len")))
            {
                return use(gcm);
            }
        }
        if (!slots.TryGetValue(Id(call), out Slot slot) || !CryptographicOperations.FixedTimeEquals(slot.Key, key))
        {
            slot?.Gcm.Dispose();
            slots.Remove(Id(call));
            slots[Id(call)] = slot = new Slot { Key = key, Gcm = Make(key, call.Number("tag-len")) };
        }
        return use(slot.Gcm);
    }

    /// <summary>Where the output goes: over the text, or into memory of its own.</summary>
    static byte[] Place(Call call, byte[] text) => call["in-place"] == "yes" ? text : new byte[text.Length];

    string Seal(Call call, byte[] nonce, byte[] aad)
    {
        byte[] plain = call.Bytes("plain");
        byte[] cipher = Place(call, plain);
        var tag = new byte[call.Number("tag-len")];
        return With(call, gcm =>
        {
            gcm.Encrypt(nonce, plain, cipher, tag, aad);
            return "ok out=" + Hex.Encode(cipher) + Hex.Encode(tag);
        });
    }

    string Open(Call call, byte[] nonce, byte[] aad)
    {
        byte[] sealedText = call.Bytes("sealed");
        int length = sealedText.Length - call.Number("tag-len");
        byte[] cipher = sealedText.Take(length).ToArray();
        byte[] tag = sealedText.Skip(length).ToArray();
        byte[] plain = Place(call, cipher);
        return With(call, gcm =>
        {
            try
            {
                gcm.Decrypt(nonce, cipher, tag, plain, aad);
            }
            catch (CryptographicException)
            {
                return "bad-tag";
            }
            return "ok out=" + Hex.Encode(plain);
        });
    }

    public override string Answer(string name, Call call)
    {
        if (name == "drop")
        {
            Drop(call["mode"] + call["thread"] + "/");
            return "ok";
        }
        byte[] nonce = call.Bytes("nonce");
        byte[] aad = call.All("aad").SelectMany(part => part).ToArray();
        if (nonce.Length != 12)
        {
            return "unsupported";
        }
        return name == "seal" ? Seal(call, nonce, aad) : name == "open" ? Open(call, nonce, aad) : "unsupported";
    }
}
