# SPDX-License-Identifier: Apache-2.0
# Where the engines come from, and how one is made into a single object whose other symbols nobody sees, so that OpenSSL
# and BoringSSL live in one program. Breaks if an archive is built with LTO: ld -r then finds no code.

# paldiff_find_engines: fills empty PALDIFF_*_ROOT from ci/deps.
function(paldiff_find_engines)
  if(PALDIFF_OPENSSL_ROOT AND PALDIFF_BORINGSSL_ROOT)
    return()
  endif()
  execute_process(
    COMMAND ${CMAKE_SOURCE_DIR}/ci/deps --sanitizer ${PALDIFF_SANITIZER} --cc ${CMAKE_C_COMPILER} --cxx ${CMAKE_CXX_COMPILER}
    OUTPUT_VARIABLE lines RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "the engines could not be built: see above")
  endif()
  foreach(engine OPENSSL BORINGSSL)
    string(TOLOWER ${engine} name)
    if(NOT PALDIFF_${engine}_ROOT AND lines MATCHES "(^|\n)${name} ([^\n]+)")
      set(PALDIFF_${engine}_ROOT ${CMAKE_MATCH_2} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# paldiff_check_engine: MSan reports nonsense about memory that code without its instrumentation wrote.
function(paldiff_check_engine name root)
  if(NOT EXISTS ${root}/lib/libcrypto.a OR NOT EXISTS ${root}/lib/libssl.a OR NOT EXISTS ${root}/include/openssl/evp.h)
    message(FATAL_ERROR "${name}: ${root} lacks lib/libcrypto.a, lib/libssl.a or include/openssl/evp.h")
  endif()
  if(PALDIFF_SANITIZER STREQUAL "memory")
    execute_process(COMMAND ${CMAKE_NM} ${root}/lib/libcrypto.a OUTPUT_VARIABLE symbols ERROR_QUIET)
    if(NOT symbols MATCHES "__msan_")
      message(FATAL_ERROR "${name}: ${root} is not built for MSan; leave PALDIFF_*_ROOT empty, or build it with -fsanitize=memory")
    endif()
  endif()
endfunction()

# paldiff_seal(NAME ROOT GLOBAL...): library paldiff_NAME: the objects of paldiff_code_NAME and what they need of the engine
# at ROOT as one object, of which the program sees the symbols GLOBAL alone.
function(paldiff_seal name root)
  set_target_properties(paldiff_code_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(paldiff_code_${name} SYSTEM BEFORE PRIVATE ${root}/include)
  # One flag for the whole program, or ASan takes every global that is registered twice for a duplicate.
  set(once ___asan_globals_registered)
  set(object ${CMAKE_BINARY_DIR}/${name}.o)
  # In an archive, so that a program that does not ask for the engine does not carry it.
  set(archive ${CMAKE_BINARY_DIR}/libpaldiff_${name}.a)
  list(TRANSFORM ARGN PREPEND "--keep-global-symbol=" OUTPUT_VARIABLE globals)
  add_custom_command(OUTPUT ${archive}
    # BoringSSL has no other way to take its randomness from us, nor to prefer the same ciphers on every machine; OpenSSL
    # has no such symbols.
    COMMAND ${PALDIFF_OBJCOPY} --weaken-symbol=RAND_bytes_with_additional_data --weaken-symbol=EVP_has_aes_hardware ${root}/lib/libcrypto.a ${object}.crypto.a
    COMMAND ${PALDIFF_LD} -r -d --force-group-allocation -o ${object}.all $<TARGET_OBJECTS:paldiff_code_${name}>
            --start-group ${root}/lib/libssl.a ${object}.crypto.a --end-group
    COMMAND ${PALDIFF_OBJCOPY} ${globals} --keep-global-symbol=${once} --weaken-symbol=${once} ${object}.all ${object}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${object}.all ${object}.crypto.a ${archive}
    COMMAND ${CMAKE_AR} rcs ${archive} ${object}
    DEPENDS paldiff_code_${name} $<TARGET_OBJECTS:paldiff_code_${name}> ${root}/lib/libcrypto.a ${root}/lib/libssl.a
    COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(paldiff_object_${name} DEPENDS ${archive})
  add_library(paldiff_${name} STATIC IMPORTED GLOBAL)
  set_target_properties(paldiff_${name} PROPERTIES IMPORTED_LOCATION ${archive})
  add_dependencies(paldiff_${name} paldiff_object_${name})
endfunction()

# paldiff_add_engine(NAME ROOT SOURCE...): library paldiff_engine_NAME; its global symbols are pal_port_NAME and
# pal_tls_make_identity_NAME.
function(paldiff_add_engine name root)
  paldiff_check_engine(${name} ${root})
  add_library(paldiff_code_engine_${name} OBJECT ${ARGN})
  target_link_libraries(paldiff_code_engine_${name} PRIVATE paldiff_base paldiff_guided)
  target_compile_definitions(paldiff_code_engine_${name} PRIVATE PAL_ENGINE_PORT=pal_port_${name}
    PAL_ENGINE_CREDENTIALS=pal_tls_make_identity_${name})
  paldiff_seal(engine_${name} ${root} pal_port_${name} pal_tls_make_identity_${name})
  # The engine's half of the library and the rest of it need each other.
  set_target_properties(paldiff_engine_${name} PROPERTIES INTERFACE_LINK_LIBRARIES paldiff_lib)
endfunction()

# paldiff_add_bare_engine(NAME ROOT SOURCE...): library paldiff_bare_NAME: a second copy of the engine, without the library;
# its one global symbol is bench_engine_NAME.
function(paldiff_add_bare_engine name root)
  add_library(paldiff_code_bare_${name} OBJECT ${ARGN})
  target_link_libraries(paldiff_code_bare_${name} PRIVATE paldiff_base)
  target_compile_definitions(paldiff_code_bare_${name} PRIVATE BENCH_ENGINE=bench_engine_${name})
  paldiff_seal(bare_${name} ${root} bench_engine_${name})
endfunction()

# GNU binutils: lld's -r leaves common symbols (OPENSSL_ia32cap_P) without storage, whatever -d says.
find_program(PALDIFF_LD ld.bfd REQUIRED)
find_program(PALDIFF_OBJCOPY objcopy REQUIRED)
mark_as_advanced(PALDIFF_LD PALDIFF_OBJCOPY)
paldiff_find_engines()
