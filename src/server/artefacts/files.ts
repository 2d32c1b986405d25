import { errnoOf, isDiskFull, ServiceError } from '../../lib/util/errors.ts'

/** A sidecar as it is stored. */
export interface StoredSidecar {
  readonly text: string
  /** Another one for another text. */
  readonly version: string
}

/** A body that was received whole, in a temporary file. */
export interface Spooled {
  readonly path: string
  readonly hex: string
  /** Bytes. */
  readonly size: number
  /** Makes the bytes durable and closes the file, which can then be renamed. */
  sync(): Promise<void>
  /** Removes the file, unless it was renamed. */
  discard(): Promise<void>
}

/** A body opened for reading. */
export interface Body {
  /** Bytes. */
  readonly size: number
  /** The same text means the same, untouched bytes. */
  readonly state: string
  /**
   * Bytes `start` to `end` (exclusive), which lie within the size. A piece is valid until two more
   * were asked for.
   */
  read(start: number, end: number): AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/** The version of each sidecar that has a body beside it, by hash. */
export type Versions = ReadonlyMap<string, string>

/**
 * Where artefacts lie: a folder or a bucket, with the body as `sha256/<2 hex>/<hex>` and the sidecar
 * as `<hex>.json` beside it. Errors of the file system pass through; a bucket throws `ServiceError`.
 */
export interface ArtefactFiles {
  /** Folder of this machine for bodies that are being received. */
  readonly spoolFolder: string
  /** Whether something else removes what has expired. */
  readonly expiresByItself: boolean
  /** Changes by other processes are looked for this often. */
  readonly refreshMs: number
  /** Whether another process is known to have changed something since the last `changedShards`. */
  hasChanges(): boolean
  /** Called before everything else. */
  open(): Promise<void>
  /**
   * What may have changed since the last call, by shard: the first two digits of the hashes. A shard
   * that is named has no other artefacts.
   */
  changedShards(): Promise<ReadonlyMap<string, Versions>>
  /** Null when there is none. */
  sidecar(hex: string): Promise<StoredSidecar | null>
  /**
   * Stores a body and its sidecar, durably; returns the version of the sidecar. `describe` makes the
   * sidecar from the one that is there; it may be called again when that one changes meanwhile.
   */
  save(body: Spooled, describe: (previous: string | null) => string): Promise<string>
  /** Null when there is none. */
  body(hex: string): Promise<Body | null>
  /**
   * Removes the artefact if its sidecar still has the version. What another process stores at this
   * moment stays.
   */
  remove(hex: string, version: string): Promise<void>
  close(): void
}

export const shardNames: readonly string[] = Array.from({ length: 256 }, (_, at) =>
  at.toString(16).padStart(2, '0'),
)

/** Runs the action. Errors of the file system become `storage_full` or `storage_failed`. */
export async function withStorageErrors<Value>(
  what: string,
  action: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await action()
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === null || error instanceof ServiceError) throw error
    if (isDiskFull(error)) {
      const hint = 'free space on the disk of the artefact folder, or lower maxArtefactTotalBytes'
      throw new ServiceError('storage_full', `${what}: the disk is full`, { cause: error, hint })
    }
    const hint = 'check that the artefact folder exists, is writable and its disk is healthy'
    throw new ServiceError('storage_failed', `${what}: ${errno}`, { cause: error, hint })
  }
}
