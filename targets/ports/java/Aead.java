// SPDX-License-Identifier: Apache-2.0
// Aead.java: Cipher with AES/GCM/NoPadding: one for a message in mode fresh; in mode reused each thread keeps one for
// each direction, and its key. A Cipher has to be given the key with every nonce: init() is the only way to set one.
// It refuses to seal under the key and nonce of its last message (its documentation: "uniqueness requirement"), which a
// one-shot Cipher cannot notice. With -Drenews it is replaced by a new one then, as a port has to do whose answers are
// not to depend on what it keeps; without, that is an exception.

import java.security.GeneralSecurityException;
import java.security.InvalidAlgorithmParameterException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

final class Aead implements Shim.Area {
    private static final boolean RENEWS = System.getProperty("renews") != null;

    /** Slot: what a thread keeps for a direction in a mode. */
    private static final class Slot {
        byte[] bytes; // a copy
        SecretKeySpec key;
        Cipher cipher;

        Cipher init(int direction, byte[] given, GCMParameterSpec parameters) throws GeneralSecurityException {
            if (cipher == null || !MessageDigest.isEqual(bytes, given)) {
                drop();
                bytes = given.clone();
                key = new SecretKeySpec(given, "AES");
                cipher = Cipher.getInstance("AES/GCM/NoPadding");
            }
            try {
                cipher.init(direction, key, parameters);
            } catch (InvalidAlgorithmParameterException exception) {
                if (!RENEWS) {
                    throw exception;
                }
                cipher = Cipher.getInstance("AES/GCM/NoPadding");
                cipher.init(direction, key, parameters);
            }
            return cipher;
        }

        void drop() {
            if (bytes != null) {
                Arrays.fill(bytes, (byte) 0);
            }
            key = null;
            cipher = null;
        }
    }

    private final Threads threads = new Threads();
    private ThreadLocal<Map<Integer, Slot>> slots;

    @Override
    public void reset() {
        threads.reset();
        slots = ThreadLocal.withInitial(() -> Map.of(Cipher.ENCRYPT_MODE, new Slot(), Cipher.DECRYPT_MODE, new Slot()));
    }

    /** Runs a message; `room` is how long text and output are at most. */
    private byte[] run(Shim.Call call, int direction, byte[] text, int room) throws GeneralSecurityException {
        Slot slot = call.text("mode").equals("reused") ? slots.get().get(direction) : new Slot();
        var parameters = new GCMParameterSpec(8 * call.number("tag-len"), call.bytes("nonce"));
        Cipher cipher = slot.init(direction, call.bytes("key"), parameters);
        call.all("aad").forEach(cipher::updateAAD);
        if (!call.is("in-place")) {
            return cipher.doFinal(text);
        }
        byte[] buffer = Arrays.copyOf(text, room);
        int len = cipher.doFinal(buffer, 0, text.length, buffer, 0);
        return Arrays.copyOf(buffer, len);
    }

    private String seal(Shim.Call call) throws GeneralSecurityException {
        byte[] plain = call.bytes("plain");
        int room = plain.length + call.number("tag-len");
        return "ok" + Shim.bytes("out", run(call, Cipher.ENCRYPT_MODE, plain, room));
    }

    private String open(Shim.Call call) throws GeneralSecurityException {
        byte[] sealed = call.bytes("sealed");
        try {
            return "ok" + Shim.bytes("out", run(call, Cipher.DECRYPT_MODE, sealed, sealed.length));
        } catch (AEADBadTagException exception) {
            return "bad-tag";
        }
    }

    private String drop(Shim.Call call) {
        if (call.text("mode").equals("reused")) {
            slots.get().values().forEach(Slot::drop);
        }
        return "ok";
    }

    @Override
    public List<String> names() {
        return List.of("aead.fresh", "aead.reused");
    }

    @Override
    public Map<String, Shim.Handler> calls() {
        return Map.of("aead.seal", threads.on(this::seal), "aead.open", threads.on(this::open), "aead.drop",
            threads.on(this::drop));
    }
}
