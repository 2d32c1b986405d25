import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { connectionReason } from '../../lib/util/connection-reason.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import {
  type ArtefactFiles,
  type Body,
  shardNames,
  type StoredSidecar,
  type Versions,
  type Spooled,
} from './files.ts'

/** Swift allows 1,000 parts. */
const maxParts = 1000
const minPartBytes = 8 * 1024 * 1024
/** Parts of one upload that are sent at once: the next one is read meanwhile. */
const partsAtOnce = 2
/** Each download by a client needs one. */
const maxConnections = 256
/** How often a sidecar is written again that another server has changed meanwhile. */
const maxAttempts = 5

/** The region that other servers than AWS accept. */
const usualRegion = 'us-east-1'
/** How long to wait for a connection. An answer may take four times as long. */
const waitMs = 5000

/** Where artefacts are in an S3-compatible server. */
export interface BucketSettings {
  readonly bucket: string
  /** Before the name of every object: empty, or ends in `/`. */
  readonly prefix: string
}

/** Parses `s3://BUCKET/PREFIX`; `source` names the flag in the error. Throws `usage_invalid`. */
export function parseBucketUrl(text: string, source: string): BucketSettings {
  const form = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[\w.=+@-]+)*)\/?$/
  const [, bucket, path = ''] = form.exec(text) ?? []
  if (bucket === undefined || /\/\.+(\/|$)/.test(path)) {
    const hint =
      'write s3://BUCKET or s3://BUCKET/PREFIX; a prefix has letters, digits and . _ - = + @ /'
    throw usage(`${source} is not the address of a bucket`, hint)
  }
  return { bucket, prefix: path === '' ? '' : `${path.slice(1)}/` }
}

/**
 * Loads the client of buckets, which reads endpoint, region and credentials from the variables and
 * files that the tools of AWS read. Nothing is sent yet.
 */
export async function openBucket(
  settings: BucketSettings,
  spoolFolder: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<ArtefactBucket> {
  const { s3, Upload } = await loadClient()
  const endpoint = env['AWS_ENDPOINT_URL_S3'] || env['AWS_ENDPOINT_URL']
  const region = env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || (endpoint && usualRegion)
  const client = new s3.S3Client({
    ...(endpoint && { endpoint, forcePathStyle: true }),
    ...(region && { region }),
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
  return new ArtefactBucket({ settings, spoolFolder, client, s3, Upload })
}

type Client = Awaited<ReturnType<typeof loadClient>>

interface BucketParts extends Client {
  readonly settings: BucketSettings
  readonly spoolFolder: string
  readonly client: InstanceType<Client['s3']['S3Client']>
}

/** Artefacts as objects of an S3-compatible bucket, which any number of servers may share. */
export class ArtefactBucket implements ArtefactFiles {
  readonly refreshMs = 10_000
  /** By the lifecycle rules of the bucket. */
  readonly expiresByItself = true
  readonly spoolFolder: string
  readonly #parts: BucketParts
  /** False once the bucket refused `If-Match`: then the last of two writers wins. */
  #isConditional = true

  constructor(parts: BucketParts) {
    this.#parts = parts
    this.spoolFolder = parts.spoolFolder
  }

  async open(): Promise<void> {}

  async changedShards(): Promise<ReadonlyMap<string, Versions>> {
    const { s3, client, settings } = this.#parts
    const start = `${settings.prefix}sha256/`
    const etags = new Map<string, string>()
    await this.#orBucketError('the artefacts were not listed', async () => {
      const asked = { Bucket: settings.bucket, Prefix: start }
      for await (const { Contents = [] } of s3.paginateListObjectsV2({ client }, asked)) {
        for (const { Key = '', ETag = '' } of Contents) etags.set(Key.slice(start.length), ETag)
      }
    })
    const shards = new Map(shardNames.map(name => [name, new Map<string, string>()]))
    for (const [key, etag] of etags) {
      const [, name = '', hex = ''] = /^([0-9a-f]{2})\/(\1[0-9a-f]{62})\.json$/.exec(key) ?? []
      if (etags.has(`${name}/${hex}`)) shards.get(name)?.set(hex, versionOf(etag))
    }
    return shards
  }

  hasChanges(): boolean {
    return false
  }

  sidecar(hex: string): Promise<StoredSidecar | null> {
    const { s3, client } = this.#parts
    return this.#orBucketError('the artefact was not read', async () => {
      const asked = new s3.GetObjectCommand(this.#at(`${hex}.json`))
      const found = await nullIfMissing(client.send(asked))
      if (found === null) return null
      return { text: await text(found.Body as Readable), version: versionOf(found.ETag) }
    })
  }

  save(body: Spooled, describe: (previous: string | null) => string): Promise<string> {
    const { client, Upload } = this.#parts
    return this.#orBucketError('the artefact was not stored', async () => {
      const params = { ...this.#at(body.hex), Body: createReadStream(body.path) }
      const partSize = Math.max(minPartBytes, Math.ceil(body.size / maxParts))
      await new Upload({ client, params, partSize, queueSize: partsAtOnce }).done()
      return this.#saveSidecar(body.hex, describe)
    })
  }

  body(hex: string): Promise<Body | null> {
    const { s3, client } = this.#parts
    return this.#orBucketError('the artefact was not found', async () => {
      const head = (name: string) =>
        nullIfMissing(client.send(new s3.HeadObjectCommand(this.#at(name))))
      // A removal by another server left the body.
      const [found, sidecar] = await Promise.all([head(hex), head(`${hex}.json`)])
      if (found === null || sidecar === null) return null
      const { ContentLength: size = NaN, ETag: etag = '' } = found
      return {
        size,
        state: etag,
        read: (start, end) => this.#read(hex, { start, end, etag }),
        close: () => Promise.resolve(),
      }
    })
  }

  /**
   * The sidecar alone, without which the body is no artefact: another server may have sent the same
   * body just now.
   */
  remove(hex: string, version: string): Promise<void> {
    const { s3, client } = this.#parts
    return this.#orBucketError('the artefact was not removed', async () => {
      if ((await this.sidecar(hex))?.version !== version) return
      const IfMatch = this.#isConditional ? version : undefined
      try {
        await client.send(new s3.DeleteObjectCommand({ ...this.#at(`${hex}.json`), IfMatch }))
      } catch (error) {
        if (!this.#isRefusedCondition(error)) throw error
        if (IfMatch !== undefined && !this.#isConditional) await this.remove(hex, version)
      }
    })
  }

  close(): void {
    this.#parts.client.destroy()
  }

  async #saveSidecar(hex: string, describe: (previous: string | null) => string): Promise<string> {
    const { s3, client } = this.#parts
    for (let attempt = 1; ; attempt++) {
      const previous = await this.sidecar(hex)
      const object = {
        ...this.#at(`${hex}.json`),
        Body: describe(previous?.text ?? null),
        ContentType: 'application/json',
      }
      const condition = previous ? { IfMatch: previous.version } : { IfNoneMatch: '*' }
      const asked = this.#isConditional ? { ...object, ...condition } : object
      try {
        const { ETag } = await client.send(new s3.PutObjectCommand(asked))
        return versionOf(ETag)
      } catch (error) {
        if (!this.#isRefusedCondition(error) || attempt === maxAttempts) throw error
      }
    }
  }

  async *#read(
    hex: string,
    { start, end, etag }: { start: number; end: number; etag: string },
  ): AsyncGenerator<Uint8Array> {
    if (start >= end) return
    const { s3, client } = this.#parts
    const Range = `bytes=${start}-${end - 1}`
    const asked = new s3.GetObjectCommand({ ...this.#at(hex), Range, IfMatch: etag })
    try {
      const { Body } = await client.send(asked)
      yield* Body as Readable
    } catch (error) {
      throw toBucketError(error, this.#parts.settings, 'the artefact was not read')
    }
  }

  /** The object has changed, or the bucket offers no conditions: then none is asked for again. */
  #isRefusedCondition(error: unknown): boolean {
    const status = statusOf(error) ?? 0
    if (status === 501) this.#isConditional = false
    return [404, 409, 412, 501].includes(status)
  }

  #at(name: string) {
    const { bucket: Bucket, prefix } = this.#parts.settings
    return { Bucket, Key: `${prefix}sha256/${name.slice(0, 2)}/${name}` }
  }

  async #orBucketError<Value>(what: string, action: () => Promise<Value>): Promise<Value> {
    try {
      return await action()
    } catch (error) {
      throw toBucketError(error, this.#parts.settings, what)
    }
  }
}

/** Null when the object is missing; a missing bucket is an error. */
async function nullIfMissing<Value>(answer: Promise<Value>): Promise<Value | null> {
  try {
    return await answer
  } catch (error) {
    if (statusOf(error) === 404 && (error as Error).name !== 'NoSuchBucket') return null
    throw error
  }
}

/** The HTTP status of a refusal; null for any other error. */
function statusOf(error: unknown): number | null {
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } }
  return $metadata?.httpStatusCode ?? null
}

/**
 * What a caller gets for `error`; `what` says what did not happen. A bucket that cannot be reached,
 * or is too busy, is `storage_unavailable`. Errors that are not of the bucket stay what they are.
 */
function toBucketError(error: unknown, settings: BucketSettings, what: string): unknown {
  if (error instanceof ServiceError || !(error instanceof Error)) return error
  const failure = `s3://${settings.bucket}/${settings.prefix}: ${what}`
  const status = statusOf(error)
  const { code } = error as { code?: unknown }
  if (status !== null && status < 500 && status !== 429) {
    const message = `${failure}: ${error.name} (HTTP ${status})`
    return new ServiceError('storage_failed', message, {
      cause: error,
      hint: 'check the bucket, its region, the keys and what they allow: reading, writing, listing, deleting',
    })
  }
  const isTimeout = error.name === 'TimeoutError'
  if (status === null && !isTimeout && typeof code !== 'string') return error
  const reason = isTimeout ? 'no answer in time' : `${error.name} (HTTP ${status})`
  const why = status === null && typeof code === 'string' ? connectionReason(code) : reason
  return new ServiceError('storage_unavailable', `${failure}: ${why}`, {
    cause: error,
    hint: 'check the endpoint and the network, and that the server of the bucket runs',
  })
}

/** Servers differ in the quotes. */
function versionOf(etag = ''): string {
  return etag.replaceAll('"', '')
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
