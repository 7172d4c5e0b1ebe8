// SPDX-License-Identifier: Apache-2.0
// Threads.java: the threads of a scenario, by number. Slots are thread-locals, so a call is made on the thread that it
// names; 0 is the caller's own.

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

final class Threads {
    private final Map<Integer, ExecutorService> threads = new HashMap<>();

    Shim.Handler on(Shim.Handler handler) {
        return call -> {
            int number = call.number("thread");
            if (number == 0) {
                return handler.answer(call);
            }
            var thread = threads.computeIfAbsent(number, n -> Executors.newSingleThreadExecutor());
            try {
                return thread.submit(() -> handler.answer(call)).get();
            } catch (ExecutionException exception) {
                throw (Exception) exception.getCause();
            }
        };
    }

    void reset() {
        threads.values().forEach(ExecutorService::shutdown);
        threads.clear();
    }
}
