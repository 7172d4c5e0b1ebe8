// SPDX-License-Identifier: Apache-2.0
//
// The calls of tls. SslStream has no key updates, no alerts and no external PSKs of the caller's own, does not give
// sessions away, and tells no alerts. What differs between .NET and Mono is in TlsNet.cs and TlsMono.cs.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Security.Authentication;

sealed class Tls : Area
{
    readonly Dictionary<string, TlsEnd> ends = new Dictionary<string, TlsEnd>();

    public override IEnumerable<string> Offers() => Works(TlsEngine.Probe) ? new[] { "tls" } : new string[0];

    public override void Reset()
    {
        foreach (TlsEnd end in ends.Values)
        {
            end.End();
        }
        ends.Clear();
    }

    /// <summary>The DER structures that stand one after another.</summary>
    public static IEnumerable<byte[]> Split(byte[] der)
    {
        for (int at = 0, length; at < der.Length; at += length)
        {
            int bytes = der[at + 1] < 0x80 ? 0 : der[at + 1] & 0x7f; // X.690 8.1.3: so many bytes of length
            length = bytes == 0 ? der[at + 1] : der.Skip(at + 2).Take(bytes).Aggregate(0, (sum, next) => sum << 8 | next);
            length += 2 + bytes;
            yield return der.Skip(at).Take(length).ToArray();
        }
    }

    string Open(Call call)
    {
        if (call["psk-key"] != "" || call["ticket"] != "" || !TlsEngine.Has(call))
        {
            return "unsupported";
        }
        var end = new TlsEnd(call["mode"] == "reused");
        end.Start(TlsEngine.Make(end, call));
        ends[call["id"]] = end;
        return "ok";
    }

    static string Handshake(TlsEnd end, Call call)
    {
        byte[] input = call.Bytes("input");
        end.Feed(input);
        string status = end.Finished && end.Ended == null ? "ok" : end.Step();
        return $"{status} consumed={input.Length}{end.TakeToken()}";
    }

    /// <summary>Calls that send come from the caller's own thread, as the other one waits in Read.</summary>
    static string Write(TlsEnd end, Action send)
    {
        string status = end.Dead ?? (end.Finished && !end.Shut ? "ok" : "bad-state");
        if (status == "ok")
        {
            try
            {
                send();
            }
            catch (Exception problem)
            {
                status = TlsEnd.StatusOf(problem);
            }
        }
        return status + end.TakeToken();
    }

    static void Shutdown(TlsEnd end)
    {
        end.Shut = true;
        end.Ssl.ShutdownAsync().Wait();
    }

    static string Decrypt(TlsEnd end, Call call)
    {
        if (!end.Finished && end.Ended == null)
        {
            return "bad-state";
        }
        end.Feed(call.Bytes("input"));
        return end.Step() + end.TakePlain() + end.TakeToken();
    }

    static string Info(TlsEnd end)
    {
        if (!end.Finished || end.Dead != null)
        {
            return "ok";
        }
        string version = end.Ssl.SslProtocol == SslProtocols.Tls12 ? "1.2" : "1.3";
        string peer = end.Ssl.RemoteCertificate == null ? "" : Hex.Encode(end.Ssl.RemoteCertificate.GetRawCertData());
        return $"ok version={version} peer-certificate={peer} {TlsEngine.Describe(end)}";
    }

    public override string Answer(string name, Call call)
    {
        ends.TryGetValue(call["id"], out TlsEnd end);
        switch (name)
        {
            case "open":
                return Open(call);
            case "handshake":
                return Handshake(end, call);
            case "encrypt":
                return Write(end, () => end.Ssl.Write(call.Bytes("plain")));
            case "decrypt":
                return Decrypt(end, call);
            case "shutdown":
                return Write(end, () => Shutdown(end));
            case "set-identity":
                TlsEngine.SetIdentity(end, call);
                return "ok";
            case "info":
                return Info(end);
            case "close":
                end.End();
                ends.Remove(call["id"]);
                return "ok";
            default:
                return "unsupported";
        }
    }
}
