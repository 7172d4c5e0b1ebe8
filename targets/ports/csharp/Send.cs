// SPDX-License-Identifier: Apache-2.0
//
// Sending: Socket.Send with lists of segments, and SendPacketsAsync for files. A Socket does not say how much it sent
// before it failed: such answers have no number. Mono has no SendPacketsAsync: it throws NotImplementedException, so that
// `packets` is UNTESTED: there was no .NET to run it with.

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Sockets;
using System.Threading;

sealed class Send : Area
{
    const int SmallTotal = 4096; // auto: up to here a copy is cheaper than many segments

    readonly Dictionary<string, Socket> sockets = new Dictionary<string, Socket>();

    public override IEnumerable<string> Offers()
    {
        var ways = new[] { "send.sequential", "send.copied", "send.gathered", "send.auto" };
        return Works(TryPackets) ? ways.Append("send.packets") : ways;
    }

    public override void Reset()
    {
        foreach (Socket socket in sockets.Values)
        {
            socket.Dispose();
        }
        sockets.Clear();
    }

    static Socket Connect(int port, int sendBuffer)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true, SendBufferSize = sendBuffer };
        socket.Connect(IPAddress.Loopback, port);
        return socket;
    }

    static void TryPackets()
    {
        var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        using (Socket socket = Connect(((IPEndPoint)listener.LocalEndpoint).Port, 4096))
        {
            long sent = 0;
            SendPackets(socket, new[] { new Segment(new byte[1]) }, ref sent);
        }
        listener.Stop();
    }

    /// <summary>Sends all of the segments by as few calls as the socket allows.</summary>
    static SocketError SendAll(Socket socket, IEnumerable<byte[]> buffers, ref long sent)
    {
        var rest = buffers.Select(buffer => new ArraySegment<byte>(buffer)).ToList();
        while (rest.Count > 0)
        {
            int taken = socket.Send(rest, SocketFlags.None, out SocketError error);
            if (error == SocketError.WouldBlock)
            {
                socket.Poll(-1, SelectMode.SelectWrite);
                continue;
            }
            if (error != SocketError.Success)
            {
                return error;
            }
            sent += taken;
            while (rest.Count > 0 && taken >= rest[0].Count)
            {
                taken -= rest[0].Count;
                rest.RemoveAt(0);
            }
            if (taken > 0)
            {
                rest[0] = new ArraySegment<byte>(rest[0].Array, rest[0].Offset + taken, rest[0].Count - taken);
            }
        }
        return SocketError.Success;
    }

    static SocketError SendRun(Socket socket, string way, List<byte[]> run, ref long sent)
    {
        if (way == "copied" || (way == "auto" && run.Sum(part => part.Length) <= SmallTotal))
        {
            return SendAll(socket, new[] { run.SelectMany(part => part).ToArray() }, ref sent);
        }
        if (way != "sequential")
        {
            return SendAll(socket, run, ref sent);
        }
        SocketError error = SocketError.Success;
        for (int i = 0; error == SocketError.Success && i < run.Count; i++)
        {
            error = SendAll(socket, new[] { run[i] }, ref sent);
        }
        return error;
    }

    static SocketError SendFile(Socket socket, Segment region, ref long sent)
    {
        SocketError error = SocketError.Success;
        using (FileStream file = File.OpenRead(region.Path))
        {
            var room = new byte[Math.Min(region.Count, 1 << 16)];
            file.Position = region.Offset;
            for (int left = region.Count; error == SocketError.Success && left > 0;)
            {
                int got = file.Read(room, 0, Math.Min(left, room.Length));
                error = SendAll(socket, new[] { room.Take(got).ToArray() }, ref sent);
                left -= got;
            }
        }
        return error;
    }

    static SocketError SendPackets(Socket socket, IEnumerable<Segment> list, ref long sent)
    {
        using (var done = new ManualResetEventSlim())
        using (var packets = new SocketAsyncEventArgs())
        {
            packets.SendPacketsElements = list.Where(part => part.Bytes != null || part.Count > 0).Select(part =>
                part.Bytes != null ? new SendPacketsElement(part.Bytes) : new SendPacketsElement(part.Path, part.Offset, part.Count)).ToArray();
            packets.Completed += (sender, args) => done.Set();
            if (socket.SendPacketsAsync(packets))
            {
                done.Wait();
            }
            sent += packets.BytesTransferred;
            return packets.SocketError;
        }
    }

    static SocketError SendList(Socket socket, string way, List<Segment> list, ref long sent)
    {
        SocketError error = SocketError.Success;
        for (int at = 0; error == SocketError.Success && at < list.Count;)
        {
            List<byte[]> run = list.Skip(at).TakeWhile(part => part.Bytes != null).Select(part => part.Bytes).ToList();
            error = run.Count > 0 ? SendRun(socket, way, run, ref sent) : SendFile(socket, list[at], ref sent);
            at += Math.Max(run.Count, 1);
        }
        return error;
    }

    static string Answer(SocketError error, bool truncated, long sent)
    {
        switch (error)
        {
            case SocketError.Success:
                return (truncated ? "truncated" : "ok") + " sent=" + sent;
            case SocketError.ConnectionReset:
                return "reset";
            case SocketError.Shutdown: // EPIPE
                return "broken-pipe";
            default:
                Console.Error.WriteLine("send: " + error);
                return "system";
        }
    }

    string List(Call call)
    {
        var list = new List<Segment>();
        bool truncated = false;
        foreach (var word in call.Words.Where(word => !truncated && (word.Key == "bytes" || word.Key == "file")))
        {
            list.Add(word.Key == "bytes" ? new Segment(Hex.Decode(word.Value)) : new Segment(word.Value));
            truncated = list.Last().Truncated;
        }
        Socket socket = sockets[call["id"]];
        socket.Blocking = call["blocking"] != "no";
        long sent = 0;
        string way = call["way"];
        SocketError error = way == "packets" ? SendPackets(socket, list, ref sent) : SendList(socket, way, list, ref sent);
        return Answer(error, truncated, sent);
    }

    public override string Answer(string name, Call call)
    {
        switch (name)
        {
            case "open":
                sockets[call["id"]] = Connect(call.Number("port"), call.Number("sndbuf"));
                return "ok";
            case "list":
                return List(call);
            case "close":
                sockets[call["id"]].Dispose();
                sockets.Remove(call["id"]);
                return "ok";
            default:
                return "unsupported";
        }
    }
}
