// SPDX-License-Identifier: Apache-2.0
//
// One end of a TLS connection: SslStream over memory. An SslStream waits inside its calls, so each end has a thread for
// the handshake and for reading. It and its caller take turns: one always waits for the other, on a semaphore.

using System;
using System.Buffers;
using System.IO;
using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using System.Threading;

/// <summary>The stream below an SslStream, and the thread above it.</summary>
sealed class TlsEnd : Stream
{
    readonly SemaphoreSlim turn = new SemaphoreSlim(0);   // the caller's
    readonly SemaphoreSlim resume = new SemaphoreSlim(0); // the thread's
    readonly bool pooled;
    readonly MemoryStream plain = new MemoryStream();
    byte[] input = new byte[0]; // what the engine has not taken yet
    byte[] output = new byte[0];
    int outputLength;
    bool closed;
    string said;

    public SslStream Ssl;
    public X509Certificate2 Identity { get; set; } // when it came late
    public bool Finished;
    public bool Shut;

    /// <summary>What stopped the thread; null while it lives.</summary>
    public string Ended;

    /// <summary>The status that all calls answer from now on: after a close_notify there may be more to send.</summary>
    public string Dead => Ended == "closed" ? null : Ended;

    public TlsEnd(bool pooled)
    {
        this.pooled = pooled;
    }

    public void Start(Action authenticate)
    {
        new Thread(() => Run(authenticate)) { IsBackground = true }.Start();
    }

    /// <summary>The thread waits for its caller, and says why.</summary>
    public void Yield(string status)
    {
        said = status;
        turn.Release();
        resume.Wait();
        if (closed)
        {
            throw new IOException("the end is closed");
        }
    }

    /// <summary>Lets the thread go on until it yields or ends.</summary>
    public string Step()
    {
        if (Ended == null)
        {
            resume.Release();
            turn.Wait();
        }
        return Ended ?? said;
    }

    void Run(Action authenticate)
    {
        string status = "engine";
        resume.Wait();
        try
        {
            if (!closed)
            {
                authenticate();
                Finished = true;
                Yield("ok");
                ReadAll();
            }
            status = "closed";
        }
        catch (Exception problem)
        {
            status = StatusOf(problem);
        }
        Ended = status;
        turn.Release();
    }

    void ReadAll()
    {
        var room = new byte[16384];
        for (int got; (got = Ssl.Read(room, 0, room.Length)) > 0;)
        {
            plain.Write(room, 0, got);
        }
    }

    /// <summary>An exception's status: those that SslStream says it throws, or has within, are the protocol's.</summary>
    public static string StatusOf(Exception problem)
    {
        for (Exception cause = problem; cause != null; cause = cause.InnerException)
        {
            if (cause is AuthenticationException || cause is IOException)
            {
                return "protocol";
            }
        }
        Console.Error.WriteLine("tls: " + problem);
        return "engine";
    }

    public void Feed(byte[] bytes)
    {
        byte[] all = new byte[input.Length + bytes.Length];
        input.CopyTo(all, 0);
        bytes.CopyTo(all, input.Length);
        input = all;
    }

    /// <summary>The plaintext that came, as a word.</summary>
    public string TakePlain()
    {
        string word = " plain=" + Hex.Encode(plain.ToArray());
        plain.SetLength(0);
        return word;
    }

    /// <summary>What is to be sent now, as a word.</summary>
    public string TakeToken()
    {
        string word = " token=" + Hex.Encode(output, outputLength);
        Replace(new byte[0]);
        outputLength = 0;
        return word;
    }

    void Replace(byte[] room)
    {
        if (pooled && output.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(output);
        }
        output = room;
    }

    public override int Read(byte[] buffer, int offset, int count)
    {
        while (input.Length == 0)
        {
            Yield("need-input");
        }
        int got = Math.Min(count, input.Length);
        Array.Copy(input, 0, buffer, offset, got);
        var rest = new byte[input.Length - got];
        Array.Copy(input, got, rest, 0, rest.Length);
        input = rest;
        return got;
    }

    public override void Write(byte[] buffer, int offset, int count)
    {
        if (outputLength + count > output.Length)
        {
            int need = 2 * (outputLength + count);
            byte[] grown = pooled ? ArrayPool<byte>.Shared.Rent(need) : new byte[need];
            Array.Copy(output, 0, grown, 0, outputLength);
            Replace(grown);
        }
        Array.Copy(buffer, offset, output, outputLength, count);
        outputLength += count;
    }

    /// <summary>Ends the thread: what waits in it fails.</summary>
    public void End()
    {
        closed = true;
        Step();
    }

    public override bool CanRead => true;
    public override bool CanWrite => true;
    public override bool CanSeek => false;
    public override long Length => throw new NotSupportedException();
    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }
    public override void Flush() { }
    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();
    public override void SetLength(long value) => throw new NotSupportedException();
}
