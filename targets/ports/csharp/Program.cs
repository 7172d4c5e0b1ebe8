// SPDX-License-Identifier: Apache-2.0
//
// A paldiff shim for .NET: IncrementalHash and AesGcm, Socket, SslStream. It speaks the protocol of ../PROTOCOL.md.
// It is compiled and run by Mono as well, which lacks some of that: what is there is found out by trying, when it starts.
// UNTESTED, for want of a .NET to try it: aead, the way `packets` of send, and TlsNet.cs.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Text;

/// <summary>A line of the protocol: a name, and words in their order.</summary>
sealed class Call
{
    public readonly string Name;
    public readonly List<KeyValuePair<string, string>> Words = new List<KeyValuePair<string, string>>();

    public Call(string line)
    {
        string[] fields = line.Split(' ');
        Name = fields[0];
        foreach (string field in fields.Skip(1))
        {
            int at = field.IndexOf('=');
            Words.Add(new KeyValuePair<string, string>(field.Substring(0, at), field.Substring(at + 1)));
        }
    }

    /// <summary>The text of a word; empty when it is not there.</summary>
    public string this[string key]
    {
        get
        {
            foreach (var word in Words)
            {
                if (word.Key == key)
                {
                    return word.Value;
                }
            }
            return "";
        }
    }

    public int Number(string key) => int.Parse(this[key]);

    public byte[] Bytes(string key) => Hex.Decode(this[key]);

    public IEnumerable<byte[]> All(string key) => Words.Where(word => word.Key == key).Select(word => Hex.Decode(word.Value));
}

static class Hex
{
    const string Digits = "0123456789abcdef";

    public static byte[] Decode(string text)
    {
        var bytes = new byte[text.Length / 2];
        for (int i = 0; i < bytes.Length; i++)
        {
            bytes[i] = (byte)(Value(text[2 * i]) << 4 | Value(text[2 * i + 1]));
        }
        return bytes;
    }

    static int Value(char digit) => digit <= '9' ? digit - '0' : digit - 'a' + 10;

    public static string Encode(byte[] bytes) => Encode(bytes, bytes.Length);

    public static string Encode(byte[] bytes, int length)
    {
        var text = new char[2 * length];
        for (int i = 0; i < length; i++)
        {
            text[2 * i] = Digits[bytes[i] >> 4];
            text[2 * i + 1] = Digits[bytes[i] & 15];
        }
        return new string(text);
    }
}

/// <summary>An area of the protocol: its calls are those whose names begin with its own.</summary>
abstract class Area
{
    /// <summary>What there is of it in this runtime, as the greeting has it.</summary>
    public abstract IEnumerable<string> Offers();

    public abstract string Answer(string call, Call words);

    public abstract void Reset();

    protected static bool Works(Action action)
    {
        try
        {
            action();
            return true;
        }
        catch (Exception)
        {
            return false;
        }
    }
}

static class Program
{
    static readonly Dictionary<string, Area> Areas = new Dictionary<string, Area>
    {
        { "hmac", new Hmac() }, { "aead", new Aead() }, { "send", new Send() }, { "tls", new Tls() },
    };

    static string Greeting()
    {
        string version = RuntimeInformation.FrameworkDescription.Split('(')[0].Trim().Replace(' ', '_');
        return $"shim 1 name=csharp version={version} areas={string.Join(",", Areas.Values.SelectMany(area => area.Offers()))}";
    }

    static string Answer(Call call)
    {
        string[] name = call.Name.Split(new[] { '.' }, 2);
        try
        {
            return Areas.ContainsKey(name[0]) ? Areas[name[0]].Answer(name[1], call) : "unsupported";
        }
        catch (Exception problem)
        {
            Console.Error.WriteLine($"{call.Name}: {problem}");
            return "engine";
        }
    }

    static void Main()
    {
        var ascii = new ASCIIEncoding();
        var input = new StreamReader(Console.OpenStandardInput(), ascii, false, 1 << 16);
        var output = new StreamWriter(Console.OpenStandardOutput(), ascii, 1 << 16) { NewLine = "\n" };
        string line;
        while ((line = input.ReadLine()) != null)
        {
            if (line.StartsWith("paldiff "))
            {
                output.WriteLine(Greeting());
            }
            else if (line == "scenario")
            {
                foreach (Area area in Areas.Values)
                {
                    area.Reset();
                }
            }
            else if (line.StartsWith("calls "))
            {
                for (int count = int.Parse(line.Substring("calls ".Length)); count > 0; count--)
                {
                    output.WriteLine(Answer(new Call(input.ReadLine())));
                }
            }
            output.Flush();
        }
    }
}
