// SPDX-License-Identifier: Apache-2.0
//
// SslStream as Mono has it, over an old BoringSSL: TLS 1.2, no ALPN (asked what was agreed it throws: mono issue 12880),
// and an identity from the start.
#if !NET

using System;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using Mono.Security.Interface;

static class TlsEngine
{
    public static void Probe() => Provider();

    static MonoTlsProvider Provider() => MonoTlsProviderFactory.GetProvider("btls");

    public static bool Has(Call call) => call["late-identity"] == "" && call["alpn"] == "" && call["version-max"] == "1.2";

    static X509Certificate2 Identity(Call call)
    {
        byte[] chain = call.Bytes("chain");
        return chain.Length == 0 ? null : new X509Certificate2(Pkcs12.Encode(call.Bytes("private-key"), Tls.Split(chain)), Pkcs12.Password);
    }

    static MonoTlsSettings Settings(Call call)
    {
        var settings = new MonoTlsSettings { UseServicePointManagerCallback = false, TrustAnchors = new X509CertificateCollection() };
        if (call["time"] != "")
        {
            settings.CertificateValidationTime = DateTimeOffset.FromUnixTimeSeconds(call.Number("time")).UtcDateTime;
        }
        if (call["trusted"] == "")
        {
            settings.RemoteCertificateValidationCallback = (host, certificate, chain, errors) => true;
        }
        foreach (byte[] authority in Tls.Split(call.Bytes("trusted")))
        {
            settings.TrustAnchors.Add(new X509Certificate(authority));
        }
        return settings;
    }

    public static Action Make(TlsEnd end, Call call)
    {
        X509Certificate2 identity = Identity(call);
        bool server = call["role"] == "server";
        end.Ssl = Provider().CreateSslStream(end, true, Settings(call)).SslStream;
        if (server)
        {
            return () => end.Ssl.AuthenticateAsServer(identity, call["require-peer"] == "yes", SslProtocols.Tls12, false);
        }
        var own = identity == null ? null : new X509CertificateCollection { identity };
        return () => end.Ssl.AuthenticateAsClient(call["server-name"], own, SslProtocols.Tls12, false);
    }

    public static void SetIdentity(TlsEnd end, Call call) => throw new NotSupportedException();

    public static string Describe(TlsEnd end)
    {
        MonoTlsConnectionInfo info = MonoTlsProviderFactory.GetMonoSslStream(end.Ssl).GetConnectionInfo();
        return "cipher-suite=" + (int)info.CipherSuiteCode;
    }
}
#endif
