module paldiff.shim

go 1.19
