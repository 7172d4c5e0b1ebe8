// SPDX-License-Identifier: Apache-2.0
//
// SslStream as .NET 8 has it, over the system's OpenSSL. UNTESTED: there was no .NET to compile this with. A client's
// identity cannot come late: LocalCertificateSelectionCallback is asked before the server is.
#if NET

using System;
using System.Collections.Generic;
using System.Linq;
using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

static class TlsEngine
{
    public static void Probe() => _ = new SslApplicationProtocol("h2");

    public static bool Has(Call call) => call["role"] == "server" || call["late-identity"] == "";

    static SslProtocols Versions(Call call)
    {
        SslProtocols low = call["version-min"] == "1.2" ? SslProtocols.Tls12 : SslProtocols.None;
        return low | (call["version-max"] == "1.3" ? SslProtocols.Tls13 : SslProtocols.None);
    }

    static X509Certificate2[] Certificates(byte[] der) => Tls.Split(der).Select(one => new X509Certificate2(one)).ToArray();

    static X509Certificate2 Identity(Call call)
    {
        X509Certificate2 leaf = Certificates(call.Bytes("chain"))[0];
        using (ECDsa ec = ECDsa.Create())
        using (RSA rsa = RSA.Create())
        {
            if (leaf.PublicKey.Oid.Value == "1.2.840.10045.2.1") // RFC 5480 2.1: id-ecPublicKey
            {
                ec.ImportPkcs8PrivateKey(call.Bytes("private-key"), out _);
                return leaf.CopyWithPrivateKey(ec);
            }
            rsa.ImportPkcs8PrivateKey(call.Bytes("private-key"), out _);
            return leaf.CopyWithPrivateKey(rsa);
        }
    }

    static X509ChainPolicy Policy(Call call)
    {
        var policy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust,
            RevocationMode = X509RevocationMode.NoCheck,
        };
        policy.CustomTrustStore.AddRange(Certificates(call.Bytes("trusted")));
        if (call["time"] != "")
        {
            policy.VerificationTime = DateTimeOffset.FromUnixTimeSeconds(call.Number("time")).LocalDateTime;
            policy.VerificationTimeIgnored = false;
        }
        return policy;
    }

    static List<SslApplicationProtocol> Protocols(Call call)
    {
        var protocols = new List<SslApplicationProtocol>();
        byte[] wire = call.Bytes("alpn");
        for (int at = 0; at < wire.Length; at += 1 + wire[at])
        {
            protocols.Add(new SslApplicationProtocol(wire.AsSpan(at + 1, wire[at]).ToArray()));
        }
        return protocols.Count > 0 ? protocols : null;
    }

    static SslServerAuthenticationOptions Server(TlsEnd end, Call call)
    {
        var options = new SslServerAuthenticationOptions
        {
            EnabledSslProtocols = Versions(call),
            ApplicationProtocols = Protocols(call),
            ClientCertificateRequired = call["require-peer"] == "yes",
            CertificateChainPolicy = Policy(call),
        };
        if (call["late-identity"] == "yes")
        {
            options.ServerCertificateSelectionCallback = (sender, name) =>
            {
                while (end.Identity == null)
                {
                    end.Yield("need-credentials");
                }
                return end.Identity;
            };
        }
        else
        {
            options.ServerCertificate = Identity(call);
        }
        return options;
    }

    static SslClientAuthenticationOptions Client(Call call)
    {
        var options = new SslClientAuthenticationOptions
        {
            TargetHost = call["server-name"],
            EnabledSslProtocols = Versions(call),
            ApplicationProtocols = Protocols(call),
            CertificateChainPolicy = Policy(call),
        };
        if (call["chain"] != "")
        {
            options.ClientCertificates = new X509CertificateCollection { Identity(call) };
        }
        if (call["trusted"] == "")
        {
            options.RemoteCertificateValidationCallback = (sender, certificate, chain, errors) => true;
        }
        return options;
    }

    public static Action Make(TlsEnd end, Call call)
    {
        end.Ssl = new SslStream(end, true);
        if (call["role"] == "server")
        {
            SslServerAuthenticationOptions server = Server(end, call);
            return () => end.Ssl.AuthenticateAsServer(server);
        }
        SslClientAuthenticationOptions client = Client(call);
        return () => end.Ssl.AuthenticateAsClient(client);
    }

    public static void SetIdentity(TlsEnd end, Call call) => end.Identity = Identity(call);

    public static string Describe(TlsEnd end)
    {
        return $"cipher-suite={(int)end.Ssl.NegotiatedCipherSuite} alpn={Hex.Encode(end.Ssl.NegotiatedApplicationProtocol.Protocol.ToArray())}";
    }
}
#endif
