// SPDX-License-Identifier: Apache-2.0
// Hmac.java: Mac: one for a message in mode fresh; in mode reused each thread keeps one with its key, which doFinal()
// and reset() leave as init() did. Not there: an empty key, which SecretKeySpec refuses.

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

final class Hmac implements Shim.Area {
    /** Slot: what a thread keeps in a mode. */
    private static final class Slot {
        final boolean keeps;
        String algorithm;
        byte[] key; // a copy
        Mac mac;
        Mac message; // the open one

        Slot(boolean keeps) {
            this.keeps = keeps;
        }

        Mac begin(String name, byte[] bytes) throws GeneralSecurityException {
            message = null;
            if (keeps && name.equals(algorithm) && MessageDigest.isEqual(bytes, key)) {
                mac.reset();
                return mac;
            }
            drop();
            Mac made = Mac.getInstance(name);
            made.init(new SecretKeySpec(bytes, name));
            if (keeps) {
                algorithm = name;
                key = bytes.clone();
                mac = made;
            }
            return made;
        }

        void drop() {
            if (key != null) {
                Arrays.fill(key, (byte) 0);
            }
            algorithm = null;
            mac = message = null;
        }
    }

    private final Threads threads = new Threads();
    private ThreadLocal<Map<String, Slot>> slots;

    @Override
    public void reset() {
        threads.reset();
        slots = ThreadLocal.withInitial(() -> Map.of("fresh", new Slot(false), "reused", new Slot(true)));
    }

    private Slot slot(Shim.Call call) {
        return slots.get().get(call.text("mode"));
    }

    private Mac begin(Shim.Call call) throws GeneralSecurityException {
        return slot(call).begin("Hmac" + call.text("alg").toUpperCase(), call.bytes("key"));
    }

    private String digest(Shim.Call call) throws GeneralSecurityException {
        Mac mac = begin(call);
        call.all("part").forEach(mac::update);
        return "ok" + Shim.bytes("out", mac.doFinal());
    }

    private String start(Shim.Call call) throws GeneralSecurityException {
        slot(call).message = begin(call);
        return "ok";
    }

    private String update(Shim.Call call) {
        Mac message = slot(call).message;
        if (message == null) {
            return "bad-state"; // what should have opened it failed
        }
        message.update(call.bytes("part"));
        return "ok";
    }

    private String finish(Shim.Call call) {
        Slot slot = slot(call);
        if (slot.message == null) {
            return "bad-state";
        }
        byte[] out = slot.message.doFinal();
        slot.message = null;
        return "ok" + Shim.bytes("out", out);
    }

    private String drop(Shim.Call call) {
        slot(call).drop();
        return "ok";
    }

    @Override
    public List<String> names() {
        return List.of("hmac.fresh", "hmac.reused");
    }

    @Override
    public Map<String, Shim.Handler> calls() {
        return Map.of("hmac.digest", threads.on(this::digest), "hmac.start", threads.on(this::start), "hmac.update",
            threads.on(this::update), "hmac.finish", threads.on(this::finish), "hmac.drop", threads.on(this::drop));
    }
}
