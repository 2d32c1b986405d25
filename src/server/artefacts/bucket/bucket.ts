import { Readable } from 'node:stream'
import { ServiceError } from '../../../lib/util/errors.ts'
import { BucketAnswerInvalid, statusOf, toBucketError } from './errors.ts'
import { type BucketSettings, bucketName } from './settings.ts'

export interface ObjectFacts {
  /** The same text means the same, untouched object. */
  readonly etag: string
  /** Bytes. */
  readonly size: number
}

/**
 * The objects of one prefix of a bucket; a key is given without it. Rejects with
 * `storage_unavailable`, `storage_failed` or `storage_full`.
 */
export interface Bucket {
  /** For messages. */
  readonly name: string
  /** Resolves when the whole object is stored. Errors of the source are thrown unchanged. */
  put(key: string, pieces: AsyncIterable<Uint8Array>): Promise<void>
  /** Null when there is no such object. */
  head(key: string): Promise<ObjectFacts | null>
  /**
   * Bytes `start` to `end` (exclusive) of the object with this `etag`, as they arrive: the stream may
   * end early or fail. Null when the object is missing or another one. The caller destroys the stream.
   */
  get(key: string, etag: string, start: number, end: number): Promise<Readable | null>
  /** Removes the object and unfinished uploads to its key, if there are any. */
  remove(key: string): Promise<void>
  /** The first 256 bytes; null when there is no such object. */
  readText(key: string): Promise<string | null>
  writeText(key: string, text: string): Promise<void>
  /** The first keys that begin so. */
  list(start: string): Promise<readonly string[]>
  close(): void
}

/** Swift allows 1,000 parts. */
const maxParts = 1000
const partBytes = 8 * 1024 * 1024
/** Bytes of one object at most. */
export const maxObjectBytes = maxParts * partBytes
/** Parts of one upload that are sent at once: the next one is read meanwhile. */
const partsAtOnce = 2
/** More than bodies are sent to clients at once, because each needs a connection. */
const maxConnections = 256
const maxTextBytes = 256

interface BucketOptions {
  readonly settings: BucketSettings
  /** How long to wait for a connection. An answer may take four times as long. */
  readonly waitMs: number
}

/** Loads the client. Nothing is sent yet. */
export async function openBucket({ settings, waitMs }: BucketOptions): Promise<Bucket> {
  const { s3, Upload } = await loadClient()
  const { bucket: Bucket, prefix, endpoint, region } = settings
  const name = bucketName(settings)
  const client = new s3.S3Client({
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(region !== undefined && { region }),
    // Other servers refuse the checksums of AWS.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Would open a new connection for each object of more than 2 MB.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: waitMs,
      socketTimeout: 4 * waitMs,
      httpAgent: { maxSockets: maxConnections },
      httpsAgent: { maxSockets: maxConnections },
    },
  })
  const at = (key: string) => ({ Bucket, Key: prefix + key })

  async function orBucketError<Value>(what: string, action: () => Promise<Value>): Promise<Value> {
    try {
      return await action()
    } catch (error) {
      throw toBucketError(error, name, what)
    }
  }

  /** Null when the object is missing; a missing bucket is an error. */
  async function orMissing<Value>(action: () => Promise<Value>): Promise<Value | null> {
    try {
      return await action()
    } catch (error) {
      if (statusOf(error) !== 404) throw error
    }
    await client.send(new s3.HeadBucketCommand({ Bucket })).catch(error => {
      if (statusOf(error) === 404) throw Object.assign(error, { name: 'NoSuchBucket' })
      throw error
    })
    return null
  }

  async function abortUploads(key: string): Promise<void> {
    const listed = await client.send(
      new s3.ListMultipartUploadsCommand({ Bucket, Prefix: prefix + key }),
    )
    for (const { Key, UploadId } of listed.Uploads ?? []) {
      await client.send(new s3.AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
    }
  }

  return {
    name,

    put: (key, pieces) =>
      orBucketError('the object was not stored', async () => {
        const body = Readable.from(pieces, { highWaterMark: 1 })
        const params = { ...at(key), Body: body }
        try {
          await new Upload({ client, params, partSize: partBytes, queueSize: partsAtOnce }).done()
        } finally {
          body.destroy()
        }
      }),

    head: key =>
      orBucketError('the object was not found', async () => {
        const found = await orMissing(() => client.send(new s3.HeadObjectCommand(at(key))))
        if (found === null) return null
        const { ETag: etag, ContentLength: size } = found
        if (etag === undefined || size === undefined) {
          throw new BucketAnswerInvalid('an answer without ETag or Content-Length')
        }
        return { etag, size }
      }),

    get: (key, etag, start, end) =>
      orBucketError('the object was not read', async () => {
        const Range = `bytes=${start}-${end - 1}`
        const asked = new s3.GetObjectCommand({ ...at(key), Range })
        const answer = await orMissing(() => client.send(asked))
        if (answer === null) return null
        const body = answer.Body as Readable
        const isRange = answer.ContentRange?.startsWith(`bytes ${start}-${end - 1}/`) ?? start === 0
        if (isRange && answer.ETag === etag) return body
        body.destroy()
        if (isRange) return null
        throw new BucketAnswerInvalid('an answer with another range')
      }),

    remove: key =>
      orBucketError('the object was not removed', async () => {
        await abortUploads(key)
        await orMissing(() => client.send(new s3.DeleteObjectCommand(at(key))))
      }),

    readText: key =>
      orBucketError('the object was not read', async () => {
        const Range = `bytes=0-${maxTextBytes - 1}`
        const found = await orMissing(() =>
          client.send(new s3.GetObjectCommand({ ...at(key), Range })),
        )
        return found === null ? null : ((await found.Body?.transformToString()) ?? '')
      }),

    writeText: (key, text) =>
      orBucketError('the object was not stored', async () => {
        await client.send(new s3.PutObjectCommand({ ...at(key), Body: text }))
      }),

    list: start =>
      orBucketError('the objects were not listed', async () => {
        const asked = new s3.ListObjectsV2Command({ Bucket, Prefix: prefix + start })
        const { Contents: found = [] } = await client.send(asked)
        return found.map(({ Key = '' }) => Key.slice(prefix.length))
      }),

    close: () => client.destroy(),
  }
}

/** Optional dependencies, which only an installation with a bucket needs. */
async function loadClient() {
  try {
    const [s3, { Upload }] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('@aws-sdk/lib-storage'),
    ])
    return { s3, Upload }
  } catch (error) {
    const names = '@aws-sdk/client-s3 @aws-sdk/lib-storage'
    throw new ServiceError('config_invalid', `a package that buckets need is missing: ${names}`, {
      cause: error,
      hint: `npm install --global ${names}, or without --global as service-cli was installed`,
    })
  }
}
