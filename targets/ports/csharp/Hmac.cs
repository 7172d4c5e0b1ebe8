// SPDX-License-Identifier: Apache-2.0
//
// hmac. A thread has a slot: in mode reused it keeps the keyed IncrementalHash, told apart by the key's bytes. A fresh
// digest is one call of the HMAC class.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Security.Cryptography;

sealed class Hmac : Area
{
    static readonly Dictionary<string, Func<byte[], HMAC>> OneShots = new Dictionary<string, Func<byte[], HMAC>>
    {
        { "sha1", key => new HMACSHA1(key) }, { "sha256", key => new HMACSHA256(key) },
        { "sha384", key => new HMACSHA384(key) }, { "sha512", key => new HMACSHA512(key) },
    };

    static readonly Dictionary<string, HashAlgorithmName> Names = new Dictionary<string, HashAlgorithmName>
    {
        { "sha1", HashAlgorithmName.SHA1 }, { "sha256", HashAlgorithmName.SHA256 },
        { "sha384", HashAlgorithmName.SHA384 }, { "sha512", HashAlgorithmName.SHA512 },
    };

    sealed class Slot
    {
        public string Alg;
        public byte[] Key;
        public IncrementalHash Hash;
        public bool Open; // there is a message, which has to be finished or given up before the next
    }

    readonly Dictionary<string, Slot> slots = new Dictionary<string, Slot>();

    public override IEnumerable<string> Offers() => new[] { "hmac.fresh", "hmac.reused" };

    public override void Reset()
    {
        foreach (Slot slot in slots.Values)
        {
            slot.Hash.Dispose();
        }
        slots.Clear();
    }

    static string Id(Call call) => call["mode"] + call["thread"];

    void Drop(string id)
    {
        if (slots.TryGetValue(id, out Slot slot))
        {
            slot.Hash.Dispose();
            slots.Remove(id);
        }
    }

    Slot Start(Call call)
    {
        string alg = call["alg"];
        byte[] key = call.Bytes("key");
        bool known = slots.TryGetValue(Id(call), out Slot slot) && call["mode"] == "reused" && slot.Alg == alg &&
                     CryptographicOperations.FixedTimeEquals(slot.Key, key);
        if (!known)
        {
            Drop(Id(call));
            slot = new Slot { Alg = alg, Key = key, Hash = IncrementalHash.CreateHMAC(Names[alg], key) };
            slots[Id(call)] = slot;
        }
        else if (slot.Open)
        {
            slot.Hash.GetHashAndReset(); // there is no other way to give a message up
        }
        slot.Open = true;
        return slot;
    }

    static string OneShot(Call call)
    {
        using (HMAC mac = OneShots[call["alg"]](call.Bytes("key")))
        {
            return "ok out=" + Hex.Encode(mac.ComputeHash(call.All("part").SelectMany(part => part).ToArray()));
        }
    }

    string Finish(Call call, Slot slot)
    {
        byte[] mac = slot.Hash.GetHashAndReset();
        slot.Open = false;
        if (call["mode"] == "fresh")
        {
            Drop(Id(call));
        }
        return "ok out=" + Hex.Encode(mac);
    }

    public override string Answer(string name, Call call)
    {
        slots.TryGetValue(Id(call), out Slot slot);
        bool open = slot != null && slot.Open;
        switch (name)
        {
            case "digest":
                if (call["mode"] == "fresh")
                {
                    Drop(Id(call));
                    return OneShot(call);
                }
                slot = Start(call);
                foreach (byte[] part in call.All("part"))
                {
                    slot.Hash.AppendData(part);
                }
                return Finish(call, slot);
            case "start":
                Start(call);
                return "ok";
            case "update":
                if (!open)
                {
                    return "bad-state";
                }
                slot.Hash.AppendData(call.Bytes("part"));
                return "ok";
            case "finish":
                return open ? Finish(call, slot) : "bad-state";
            case "drop":
                Drop(Id(call));
                return "ok";
            default:
                return "unsupported";
        }
    }
}
