// SPDX-License-Identifier: Apache-2.0
// Tls.java: calls of the TLS area, and the contexts of a scenario. Not there, as SSLEngine has none: an external PSK,
// sessions as bytes, an alert of the caller's choice, a KeyUpdate that asks for none back, and what alert was sent.

import java.security.GeneralSecurityException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;

final class Tls implements Shim.Area {
    private final Map<String, Buffers> buffers = Map.of("fresh", new Buffers(false), "reused", new Buffers(true));
    private final Map<String, Connection> connections = new HashMap<>();
    private final Map<String, Owner> servers = new HashMap<>(); // tickets are a context's; by all that it is told

    /** Owner: a context, and where its key manager looks engines up. */
    private record Owner(SSLContext context, Map<SSLEngine, Engine> engines) { }

    private static Owner context(Shim.Call call) throws Exception {
        Map<SSLEngine, Engine> engines = new HashMap<>();
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(new KeyManager[] {new Credentials.KeyManager(engines)}, Credentials.trustManagers(call), null);
        return new Owner(context, engines);
    }

    private String open(Shim.Call call) throws Exception {
        if (!call.text("psk-key").isEmpty() || !call.text("ticket").isEmpty()) {
            return "unsupported";
        }
        String told = call.text("chain") + " " + call.text("trusted") + " " + call.text("time");
        Owner owner = call.text("role").equals("client") ? context(call) : servers.get(told);
        if (owner == null) {
            servers.put(told, owner = context(call));
        }
        Connection connection = new Connection(owner.context(), buffers.get(call.text("mode")), call);
        owner.engines().put(connection.engine.ssl, connection.engine);
        connections.put(call.text("id"), connection);
        return "ok";
    }

    /** LiveCall: a call of a connection that neither failed nor waits. */
    private interface LiveCall {
        String answer(Connection connection, Shim.Call call) throws Exception;
    }

    private Shim.Handler live(LiveCall made) {
        return call -> {
            Connection connection = connections.get(call.text("id"));
            return connection.engine.failure() != null ? "protocol"
                : connection.engine.waits() ? "need-credentials consumed=0" : made.answer(connection, call);
        };
    }

    private String setIdentity(Shim.Call call) throws GeneralSecurityException {
        connections.get(call.text("id")).engine.setIdentity(Credentials.Identity.of(call));
        return "ok";
    }

    private String info(Shim.Call call) {
        return connections.get(call.text("id")).info();
    }

    private String close(Shim.Call call) {
        connections.remove(call.text("id")).engine.close();
        return "ok";
    }

    @Override
    public void reset() {
        connections.values().forEach(connection -> connection.engine.close());
        connections.clear();
        servers.clear();
    }

    @Override
    public List<String> names() {
        return List.of("tls");
    }

    @Override
    public Map<String, Shim.Handler> calls() {
        return Map.of("tls.open", this::open, "tls.info", this::info, "tls.close", this::close, "tls.handshake",
            live((connection, call) -> connection.handshake(call.bytes("input"))), "tls.encrypt",
            live((connection, call) -> connection.encrypt(call.bytes("plain"))), "tls.decrypt",
            live((connection, call) -> connection.decrypt(call.bytes("input"))), "tls.update-keys",
            live((connection, call) -> connection.updateKeys(call.is("request-peer"))), "tls.renegotiate",
            live((connection, call) -> connection.renegotiate()), "tls.shutdown",
            live((connection, call) -> connection.shutdown()), "tls.set-identity", this::setIdentity);
    }
}
