// SPDX-License-Identifier: Apache-2.0
// Shim.java: a shim (../PROTOCOL.md) over the JDK's own library: requests in, answers out. What is called is in a class
// for each area, which says what is not there.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** The loop. */
final class Shim {
    private static final HexFormat HEX = HexFormat.of();

    /** Area: its words of the greeting, and a function for each call; reset() is a new scenario. */
    interface Area {
        List<String> names();

        Map<String, Handler> calls();

        void reset() throws IOException;
    }

    /** Handler: gives the answer to one call; an exception is the engine's failure. */
    interface Handler {
        String answer(Call call) throws Exception;
    }

    record Word(String key, String value) {
        static Word of(String text) {
            int at = text.indexOf('=');
            return new Word(text.substring(0, at), text.substring(at + 1));
        }

        byte[] bytes() {
            return HEX.parseHex(value);
        }
    }

    /** Call: a line in its words. A key may come more than once; the order counts. */
    record Call(String name, List<Word> words) {
        static Call of(String line) {
            String[] parts = line.split(" ");
            return new Call(parts[0], Arrays.stream(parts).skip(1).map(Word::of).toList());
        }

        List<byte[]> all(String key) {
            return words.stream().filter(word -> word.key.equals(key)).map(Word::bytes).toList();
        }

        String text(String key) {
            return words.stream().filter(word -> word.key.equals(key)).map(Word::value).findFirst().orElse("");
        }

        byte[] bytes(String key) {
            return HEX.parseHex(text(key));
        }

        int number(String key) {
            return Integer.parseInt(text(key));
        }

        boolean is(String key) {
            return text(key).equals("yes");
        }
    }

    static String bytes(String key, byte[] bytes) {
        return " " + key + "=" + HEX.formatHex(bytes);
    }

    private static String answer(Map<String, Handler> calls, String line) {
        Call call = Call.of(line);
        Handler handler = calls.get(call.name());
        try {
            return handler == null ? "unsupported" : handler.answer(call);
        } catch (Exception exception) {
            System.err.println(exception);
            return "engine";
        }
    }

    public static void main(String[] arguments) throws IOException {
        List<Area> areas = List.of(new Hmac(), new Aead(), new Send(), new Tls());
        Map<String, Handler> calls = new HashMap<>();
        areas.forEach(area -> calls.putAll(area.calls()));
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.ISO_8859_1), 1 << 16);
        var out = new PrintStream(System.out, false, StandardCharsets.ISO_8859_1);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("paldiff 1")) {
                String names = String.join(",", areas.stream().flatMap(area -> area.names().stream()).toList());
                out.print("shim 1 name=java version=" + Runtime.version() + " areas=" + names + "\n");
            } else if (line.equals("scenario")) {
                for (Area area : areas) {
                    area.reset();
                }
            } else {
                var answers = new StringBuilder();
                for (int due = Integer.parseInt(line.split(" ")[1]); due > 0; due--) {
                    answers.append(answer(calls, in.readLine())).append('\n');
                }
                out.print(answers);
            }
            out.flush();
        }
        System.exit(0); // threads that belong to a scenario may be left
    }
}
