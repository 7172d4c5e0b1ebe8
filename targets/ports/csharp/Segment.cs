// SPDX-License-Identifier: Apache-2.0
//
// An element of a list to be sent.

using System;
using System.IO;

/// <summary>Bytes, or a region of a file, as far as that goes.</summary>
sealed class Segment
{
    public readonly byte[] Bytes;
    public readonly string Path;
    public readonly int Offset;
    public readonly int Count;
    public readonly bool Truncated; // the file is shorter than its region

    public Segment(byte[] bytes)
    {
        Bytes = bytes;
    }

    /// <summary>OFFSET:LEN:PATH; a length of 0 means to the end.</summary>
    public Segment(string region)
    {
        string[] fields = region.Split(new[] { ':' }, 3);
        Path = fields[2];
        Offset = int.Parse(fields[0]);
        long length = long.Parse(fields[1]);
        long left;
        using (FileStream file = File.OpenRead(Path)) // FileInfo.Length is a link's own
        {
            left = Math.Max(file.Length - Offset, 0);
        }
        Truncated = left < length;
        Count = (int)(length > 0 && length < left ? length : left);
    }
}
