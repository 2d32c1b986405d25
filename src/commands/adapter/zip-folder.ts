import { type Zippable, zipSync } from 'fflate'

/** One file to be packed: its path in the archive's folder, with `/` between the names. */
export interface NamedFile {
  readonly path: string
  readonly bytes: Uint8Array
}

/**
 * A zip holds no zone: its times are those of a wall clock, and 1980 is the earliest. Made from
 * local parts because the archiver reads local parts; noon exists everywhere.
 */
const packedAt = new Date(1980, 0, 1, 12)
/** Written by Unix, a regular file, `rw-r--r--`: unpacks the same on every system. */
const unix = { os: 3, attrs: (0o100644 << 16) >>> 0 } as const

/**
 * The files as a zip with one folder in it. The same files give the same bytes, in whatever order
 * they come, on whatever machine.
 */
export function zipFolder(folder: string, files: NamedFile[]): Uint8Array {
  const entries: Zippable = {}
  // By code unit: a sort by locale differs between machines.
  const sorted = files.toSorted((left, right) => (left.path < right.path ? -1 : 1))
  for (const { path, bytes } of sorted) entries[`${folder}/${path}`] = [bytes, unix]
  return zipSync(entries, { level: 9, mtime: packedAt })
}
