// SPDX-License-Identifier: Apache-2.0
// Send.java: lists over SocketChannel: write() of a buffer or of many (GatheringByteChannel: writev), files by
// FileChannel.transferTo (sendfile). Java has no error numbers: what failed is in an exception's text.

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

final class Send implements Shim.Area {
    private static final int SHORT = 8192; // `auto` copies lists without files whose segments have no more on average

    private final Map<String, SocketChannel> channels = new HashMap<>();

    /** File: a region; len 0 is to the file's end. */
    private record File(long offset, long len, Path path) {
        static File of(String text) {
            String[] parts = text.split(":", 3);
            return new File(Long.parseLong(parts[0]), Long.parseLong(parts[1]), Path.of(parts[2]));
        }
    }

    /** Operation: one list on its way. */
    private static final class Operation implements AutoCloseable {
        final SocketChannel channel;
        final Selector writable; // null: the channel blocks
        long sent = 0;

        Operation(SocketChannel channel, boolean blocking) throws IOException {
            this.channel = channel;
            channel.configureBlocking(blocking);
            writable = blocking ? null : Selector.open();
            if (!blocking) {
                channel.register(writable, SelectionKey.OP_WRITE);
            }
        }

        /** Counts what a call took; one that took nothing was made too early. */
        void took(long num) throws IOException {
            sent += num;
            if (num == 0 && writable != null) {
                writable.select();
                writable.selectedKeys().clear();
            }
        }

        void write(ByteBuffer buffer) throws IOException {
            while (buffer.hasRemaining()) {
                took(channel.write(buffer));
            }
        }

        void gather(List<ByteBuffer> buffers) throws IOException {
            ByteBuffer[] all = buffers.toArray(ByteBuffer[]::new);
            for (int first = 0; first < all.length;) {
                if (all[first].hasRemaining()) {
                    took(channel.write(all, first, all.length - first));
                } else {
                    first++;
                }
            }
        }

        /** False when the file ends before its region does. */
        boolean transfer(File file) throws IOException {
            try (FileChannel from = FileChannel.open(file.path())) {
                long at = file.offset();
                long end = file.len() > 0 ? at + file.len() : Math.max(at, from.size());
                while (at < end) {
                    long num = from.transferTo(at, end - at, channel);
                    if (num == 0 && at >= from.size()) {
                        return false;
                    }
                    took(num);
                    at += num;
                }
                return true;
            }
        }

        @Override
        public void close() throws IOException {
            if (writable != null) {
                writable.close();
            }
        }
    }

    private static int len(List<?> list) {
        return list.stream().mapToInt(item -> ((ByteBuffer) item).remaining()).sum();
    }

    private static ByteBuffer joined(List<?> list) {
        ByteBuffer all = ByteBuffer.allocate(len(list));
        list.forEach(item -> all.put((ByteBuffer) item));
        return all.flip();
    }

    /** Sends runs of buffers, as `gathers` says, and files; false when a file was too short, which ends the list. */
    private static boolean sendEach(Operation operation, List<?> list, boolean gathers) throws IOException {
        var run = new ArrayList<ByteBuffer>();
        for (Object item : list) {
            if (item instanceof ByteBuffer buffer && gathers) {
                run.add(buffer);
            } else if (item instanceof ByteBuffer buffer) {
                operation.write(buffer);
            } else {
                operation.gather(run);
                run.clear();
                if (!operation.transfer((File) item)) {
                    return false;
                }
            }
        }
        operation.gather(run);
        return true;
    }

    private static boolean sendAll(Operation operation, String way, List<?> list) throws IOException {
        boolean files = list.stream().anyMatch(item -> item instanceof File);
        if (way.equals("copied") || (way.equals("auto") && !files && len(list) <= SHORT * list.size())) {
            operation.write(joined(list));
            return true;
        }
        return sendEach(operation, list, !way.equals("sequential"));
    }

    private String open(Shim.Call call) throws IOException {
        SocketChannel channel = SocketChannel.open();
        channel.setOption(StandardSocketOptions.SO_SNDBUF, call.number("sndbuf"));
        channel.connect(new InetSocketAddress("127.0.0.1", call.number("port")));
        channels.put(call.text("id"), channel);
        return "ok";
    }

    private String list(Shim.Call call) throws IOException {
        var list = new ArrayList<Object>();
        for (Shim.Word word : call.words()) {
            switch (word.key()) {
                case "bytes" -> list.add(ByteBuffer.wrap(word.bytes()));
                case "file" -> list.add(File.of(word.value()));
                default -> { }
            }
        }
        try (var operation = new Operation(channels.get(call.text("id")), call.is("blocking"))) {
            try {
                boolean whole = sendAll(operation, call.text("way"), list);
                return (whole ? "ok" : "truncated") + " sent=" + operation.sent;
            } catch (IOException exception) {
                String text = String.valueOf(exception.getMessage());
                String status = text.startsWith("Connection reset") ? "reset"
                    : text.equals("Broken pipe") ? "broken-pipe" : "system";
                return status + " sent=" + operation.sent;
            }
        }
    }

    private String close(Shim.Call call) throws IOException {
        channels.remove(call.text("id")).close();
        return "ok";
    }

    @Override
    public void reset() throws IOException {
        for (SocketChannel channel : channels.values()) {
            channel.close();
        }
        channels.clear();
    }

    @Override
    public List<String> names() {
        return List.of("send.sequential", "send.copied", "send.gathered", "send.packets", "send.auto");
    }

    @Override
    public Map<String, Shim.Handler> calls() {
        return Map.of("send.open", this::open, "send.list", this::list, "send.close", this::close);
    }
}
