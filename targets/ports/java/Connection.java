// SPDX-License-Identifier: Apache-2.0
// Connection.java: one end of a TLS connection; a function for each call that it takes.

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertificateEncodingException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLPeerUnverifiedException;

final class Connection {
    /** Java has the names, and not the numbers. */
    private static final Map<String, Integer> SUITES = Map.of("TLS_AES_128_GCM_SHA256", 0x1301,
        "TLS_AES_256_GCM_SHA384", 0x1302, "TLS_CHACHA20_POLY1305_SHA256", 0x1303,
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", 0xc02b, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", 0xc02c,
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", 0xcca9);
    private static final String HEARD = "Received fatal alert: ";
    private static final Map<String, Integer> ALERTS = Map.of("unexpected_message", 10, "bad_record_mac", 20,
        "handshake_failure", 40, "bad_certificate", 42, "unknown_ca", 48, "decode_error", 50, "decrypt_error", 51,
        "protocol_version", 70, "internal_error", 80, "no_application_protocol", 120);

    final Engine engine;
    private final SSLEngine ssl;

    Connection(SSLContext context, Buffers buffers, Shim.Call call) throws Exception {
        String name = call.text("server-name");
        ssl = name.isEmpty() ? context.createSSLEngine() : context.createSSLEngine(name, 443);
        engine = new Engine(ssl, buffers);
        if (!call.is("late-identity")) {
            engine.setIdentity(Credentials.Identity.of(call));
        }
        ssl.setUseClientMode(call.text("role").equals("client"));
        SSLParameters parameters = ssl.getSSLParameters();
        parameters.setProtocols(List.of("TLSv1.2", "TLSv1.3").stream()
            .filter(version -> version.compareTo("TLSv" + call.text("version-min")) >= 0)
            .filter(version -> version.compareTo("TLSv" + call.text("version-max")) <= 0).toArray(String[]::new));
        parameters.setNeedClientAuth(call.is("require-peer"));
        parameters.setApplicationProtocols(protocols(call.bytes("alpn")));
        if (!name.isEmpty()) {
            parameters.setServerNames(List.of(new SNIHostName(name)));
            parameters.setEndpointIdentificationAlgorithm(call.text("trusted").isEmpty() ? null : "HTTPS");
        }
        ssl.setSSLParameters(parameters);
        ssl.beginHandshake();
    }

    private static String[] protocols(byte[] wire) {
        var names = new ArrayList<String>();
        for (int at = 0; at < wire.length; at += 1 + wire[at]) {
            names.add(new String(wire, at + 1, wire[at], StandardCharsets.ISO_8859_1));
        }
        return names.toArray(String[]::new);
    }

    // ---- calls

    private String tokenWord() {
        return Shim.bytes("token", engine.takeToken());
    }

    String handshake(byte[] more) {
        engine.feed(more, true);
        if (engine.waits()) {
            return "need-credentials consumed=" + more.length + tokenWord();
        }
        int consumed = more.length;
        if (engine.failure() == null && engine.idle()) { // what came behind the handshake is for decrypt
            consumed -= engine.putBack(more.length);
        }
        String status = engine.failure() != null ? "protocol" : engine.idle() ? "ok" : "need-input";
        return status + " consumed=" + consumed + tokenWord();
    }

    String encrypt(byte[] bytes) throws SSLException {
        if (!engine.isEstablished() || ssl.isOutboundDone()) {
            return "bad-state";
        }
        ByteBuffer from = ByteBuffer.wrap(bytes);
        while (from.hasRemaining()) {
            if (engine.wrap(from).getStatus() == Status.CLOSED) { // TLS 1.2: the peer ended both ways, RFC 5246 7.2.1
                return "bad-state" + tokenWord();
            }
        }
        return "ok" + tokenWord();
    }

    String decrypt(byte[] more) {
        engine.feed(more, false);
        String status = engine.failure() != null ? "protocol"
            : ssl.isInboundDone() ? "closed" : engine.idle() ? "need-input" : "renegotiate";
        return status + Shim.bytes("plain", engine.takePlain()) + tokenWord();
    }

    /** begin: of a TLS 1.3 engine it is a KeyUpdate, of a TLS 1.2 one a handshake; not after the peer's end. */
    private String begin(String version) throws SSLException {
        if (!engine.idle() || ssl.isOutboundDone() || ssl.isInboundDone()) {
            return "bad-state";
        }
        if (!ssl.getSession().getProtocol().equals(version)) {
            return "unsupported";
        }
        ssl.beginHandshake();
        engine.feed(new byte[0], false);
        return "ok" + tokenWord();
    }

    String updateKeys(boolean requestPeer) throws SSLException {
        return requestPeer ? begin("TLSv1.3") : "unsupported";
    }

    String renegotiate() throws SSLException {
        return begin("TLSv1.2");
    }

    String shutdown() throws SSLException {
        if (!engine.isEstablished()) {
            return "bad-state";
        }
        ssl.closeOutbound();
        engine.feed(new byte[0], false);
        return "ok" + tokenWord();
    }

    String info() {
        if (engine.waits()) {
            return "bad-state";
        }
        String text = engine.failure() != null ? String.valueOf(engine.failure().getMessage()) : "";
        Integer alert = text.startsWith(HEARD) ? ALERTS.get(text.substring(HEARD.length())) : null;
        String heard = alert != null ? " alert-received=" + alert : "";
        var session = ssl.getSession();
        if (!engine.isEstablished()) {
            return heard.isEmpty() ? "bad-state" : "ok" + heard;
        }
        byte[] peer = {};
        try {
            peer = session.getPeerCertificates()[0].getEncoded();
        } catch (SSLPeerUnverifiedException exception) { // there is none
        } catch (CertificateEncodingException exception) {
            return "engine";
        }
        boolean resumed = !ssl.getUseClientMode() && !engine.asked(); // a client of its own context never is
        return "ok version=" + session.getProtocol().substring("TLSv".length())
            + " cipher-suite=" + SUITES.getOrDefault(session.getCipherSuite(), 0)
            + " resumed=" + (resumed ? "yes" : "no")
            + Shim.bytes("alpn", ssl.getApplicationProtocol().getBytes(StandardCharsets.ISO_8859_1))
            + Shim.bytes("peer-certificate", peer) + heard;
    }
}
