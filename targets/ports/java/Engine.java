// SPDX-License-Identifier: Apache-2.0
// Engine.java: an SSLEngine and the bytes on both sides of it. A key manager has to answer when it is asked, in a task
// or in the middle of unwrap(), with the engine locked: where an identity may come late, the engine runs on a thread of
// its own, which waits there.

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLEngineResult.Status;
import javax.net.ssl.SSLException;

final class Engine {
    final SSLEngine ssl;
    private final Buffers buffers;
    private final ByteArrayOutputStream token = new ByteArrayOutputStream();
    private final ByteArrayOutputStream plain = new ByteArrayOutputStream();
    private byte[] input = {}; // what no whole record came of, yet
    private SSLException failure;
    private boolean established;
    private boolean asked;
    private final CompletableFuture<Credentials.Identity> identity = new CompletableFuture<>();
    private CompletableFuture<Void> event = new CompletableFuture<>(); // the thread asks for the identity, or ended
    private CompletableFuture<Void> running = CompletableFuture.completedFuture(null);

    Engine(SSLEngine ssl, Buffers buffers) {
        this.ssl = ssl;
        this.buffers = buffers;
    }

    // ---- what is known

    boolean isEstablished() {
        return established;
    }

    /** Null while nothing failed. */
    SSLException failure() {
        return failure;
    }

    boolean idle() {
        return established && ssl.getHandshakeStatus() == HandshakeStatus.NOT_HANDSHAKING;
    }

    /** asked: a handshake wanted the identity; none that resumes does. */
    boolean asked() {
        return asked;
    }

    /** True: the engine is locked, and nothing but an identity is of use. */
    boolean waits() {
        return asked && !identity.isDone();
    }

    byte[] takeToken() {
        return drain(token);
    }

    byte[] takePlain() {
        return drain(plain);
    }

    /** putBack: how many of the last `max` bytes of input are of no use yet; they are forgotten. */
    int putBack(int max) {
        int behind = Math.min(input.length, max);
        input = Arrays.copyOf(input, input.length - behind);
        return behind;
    }

    // ---- buffers

    private static byte[] drain(ByteArrayOutputStream bytes) {
        byte[] all = bytes.toByteArray();
        bytes.reset();
        return all;
    }

    private static void take(ByteArrayOutputStream to, ByteBuffer from) {
        from.flip();
        to.write(from.array(), from.arrayOffset(), from.limit());
    }

    // ---- records

    /** wrap: one record. */
    SSLEngineResult wrap(ByteBuffer from) throws SSLException {
        ByteBuffer out = buffers.rent(ssl.getSession().getPacketBufferSize());
        try {
            SSLEngineResult result = ssl.wrap(from, out);
            take(token, out);
            return note(result);
        } finally {
            buffers.giveBack(out);
        }
    }

    /** unwrap: one record, or less. */
    private SSLEngineResult unwrap(ByteBuffer from) throws SSLException {
        ByteBuffer out = buffers.rent(ssl.getSession().getApplicationBufferSize());
        try {
            SSLEngineResult result = ssl.unwrap(from, out);
            take(plain, out);
            return note(result);
        } finally {
            buffers.giveBack(out);
        }
    }

    private SSLEngineResult note(SSLEngineResult result) {
        established |= result.getHandshakeStatus() == HandshakeStatus.FINISHED;
        return result;
    }

    /** The identity, for the key manager; where it comes late, the engine's thread waits here. */
    Credentials.Identity identity() {
        asked = true;
        event.complete(null);
        return identity.join();
    }

    /** run: what the engine can do by itself and with `from`; ends where it is quiet, or done. */
    private void run(ByteBuffer from, boolean shaking) throws SSLException {
        for (;;) {
            switch (ssl.getHandshakeStatus()) {
                case NEED_TASK -> {
                    for (Runnable task; (task = ssl.getDelegatedTask()) != null;) {
                        task.run();
                    }
                }
                case NEED_WRAP -> {
                    if (wrap(ByteBuffer.allocate(0)).getStatus() == Status.CLOSED) {
                        return;
                    }
                }
                default -> {
                    if ((shaking && idle()) || unwrap(from).getStatus() != Status.OK) {
                        return;
                    }
                }
            }
        }
    }

    /** fail: what the engine has left to say, an alert, is in the token then. */
    private void fail(SSLException exception) {
        failure = exception;
        try {
            while (ssl.getHandshakeStatus() == HandshakeStatus.NEED_WRAP && !ssl.isOutboundDone()) {
                wrap(ByteBuffer.allocate(0));
            }
        } catch (SSLException again) {
            failure.addSuppressed(again);
        }
    }

    /** feed: runs with more input; what is left over is kept. */
    void feed(byte[] more, boolean shaking) {
        ByteBuffer from = ByteBuffer.allocate(input.length + more.length).put(input).put(more).flip();
        Runnable step = () -> {
            try {
                run(from, shaking);
            } catch (SSLException exception) {
                fail(exception);
            }
            input = new byte[from.remaining()];
            from.get(input);
        };
        if (identity.isDone()) {
            step.run();
            return;
        }
        event = new CompletableFuture<>();
        running = CompletableFuture.runAsync(step, task -> new Thread(task).start());
        running.whenComplete((none, error) -> event.complete(null));
        event.join();
    }

    // ---- identity

    void setIdentity(Credentials.Identity given) {
        identity.complete(given);
        running.join();
    }

    /** close: a thread that waits for an identity gets none. */
    void close() {
        setIdentity(null);
        ssl.closeOutbound();
    }
}
