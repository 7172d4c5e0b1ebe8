// SPDX-License-Identifier: Apache-2.0
// Credentials.java: certificates and keys, and who of an SSLContext asks for them. All of it in memory.

import java.io.ByteArrayInputStream;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXBuilderParameters;
import java.security.cert.X509CertSelector;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Date;
import java.util.List;
import java.util.Map;
import javax.net.ssl.CertPathTrustManagerParameters;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;
import javax.net.ssl.X509ExtendedTrustManager;

final class Credentials {
    private Credentials() { }

    private static X509Certificate[] certificates(byte[] der) throws GeneralSecurityException {
        return der.length == 0 ? new X509Certificate[0] : CertificateFactory.getInstance("X.509")
            .generateCertificates(new ByteArrayInputStream(der)).toArray(X509Certificate[]::new);
    }

    /** Identity: a chain, leaf first, and its key. */
    record Identity(X509Certificate[] chain, PrivateKey key) {
        static Identity of(Shim.Call call) throws GeneralSecurityException {
            X509Certificate[] chain = certificates(call.bytes("chain"));
            if (chain.length == 0) {
                return null;
            }
            KeyFactory factory = KeyFactory.getInstance(chain[0].getPublicKey().getAlgorithm());
            return new Identity(chain, factory.generatePrivate(new PKCS8EncodedKeySpec(call.bytes("private-key"))));
        }
    }

    /** KeyManager: asks the engine's owner for its identity, which waits for one that comes late. */
    static final class KeyManager extends X509ExtendedKeyManager {
        private final Map<SSLEngine, Engine> engines;
        private final ThreadLocal<Identity> current = new ThreadLocal<>(); // chosen and fetched in one task

        KeyManager(Map<SSLEngine, Engine> engines) {
            this.engines = engines;
        }

        private String choose(String[] types, SSLEngine engine) {
            Identity identity = engines.get(engine).identity();
            boolean fits = identity != null && List.of(types).contains(identity.key().getAlgorithm());
            current.set(identity);
            return fits ? "identity" : null;
        }

        @Override
        public String chooseEngineClientAlias(String[] types, Principal[] issuers, SSLEngine engine) {
            return choose(types, engine);
        }

        @Override
        public String chooseEngineServerAlias(String type, Principal[] issuers, SSLEngine engine) {
            return choose(new String[] {type}, engine);
        }

        @Override
        public X509Certificate[] getCertificateChain(String alias) {
            return current.get().chain();
        }

        @Override
        public PrivateKey getPrivateKey(String alias) {
            return current.get().key();
        }

        @Override
        public String[] getClientAliases(String type, Principal[] issuers) {
            return null;
        }

        @Override
        public String[] getServerAliases(String type, Principal[] issuers) {
            return null;
        }

        @Override
        public String chooseClientAlias(String[] types, Principal[] issuers, Socket socket) {
            return null;
        }

        @Override
        public String chooseServerAlias(String type, Principal[] issuers, Socket socket) {
            return null;
        }
    }

    /** Trusting: where no authority is given, nobody is verified. */
    private static final class Trusting extends X509ExtendedTrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) { }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) { }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) { }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) { }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) { }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) { }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }

    static TrustManager[] trustManagers(Shim.Call call) throws Exception {
        X509Certificate[] trusted = certificates(call.bytes("trusted"));
        if (trusted.length == 0) {
            return new TrustManager[] {new Trusting()};
        }
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        for (int i = 0; i < trusted.length; i++) {
            store.setCertificateEntry("authority-" + i, trusted[i]);
        }
        var parameters = new PKIXBuilderParameters(store, new X509CertSelector());
        parameters.setRevocationEnabled(false);
        if (!call.text("time").isEmpty()) {
            parameters.setDate(new Date(1000 * Long.parseLong(call.text("time"))));
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
        factory.init(new CertPathTrustManagerParameters(parameters));
        return factory.getTrustManagers();
    }
}
