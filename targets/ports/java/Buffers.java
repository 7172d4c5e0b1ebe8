// SPDX-License-Identifier: Apache-2.0
// Buffers.java: memory for a record: kept for the next one in mode reused. What a buffer had in it stays in it.

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;

final class Buffers {
    private final boolean keeps;
    private final Deque<ByteBuffer> idle = new ArrayDeque<>();

    Buffers(boolean keeps) {
        this.keeps = keeps;
    }

    /** An empty buffer that holds `cap` bytes. One that holds less is not kept any longer. */
    ByteBuffer rent(int cap) {
        ByteBuffer buffer = idle.poll();
        return buffer != null && buffer.capacity() >= cap ? buffer : ByteBuffer.allocate(cap);
    }

    void giveBack(ByteBuffer buffer) {
        if (keeps) {
            idle.push(buffer.clear());
        }
    }
}
