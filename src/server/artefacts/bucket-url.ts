import { usage } from '../../lib/util/errors.ts'

/** Where an S3-compatible bucket is. Credentials are read by its client alone. */
export interface BucketSettings {
  readonly bucket: string
  /** Before the name of every object: empty, or ends in `/`. */
  readonly prefix: string
  /** Address of the server; undefined for AWS. */
  readonly endpoint: string | undefined
  /** Undefined: the client of AWS looks for it. */
  readonly region: string | undefined
}

const form = 'write s3://BUCKET or s3://BUCKET/PREFIX'
/** The region that other servers than AWS accept. */
const usualRegion = 'us-east-1'

/**
 * Parses `s3://bucket/prefix`; `source` names the flag in the error. Endpoint and region come from
 * the variables that the tools of AWS read. Throws `usage_invalid`.
 */
export function parseBucketUrl(
  text: string,
  source: string,
  env: Record<string, string | undefined>,
): BucketSettings {
  const [, bucket, path = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([^?#\\]*))?$/.exec(text) ?? []
  if (bucket === undefined) throw usage(`${source} is not the address of a bucket`, form)
  const folders = path.split('/').filter(folder => folder !== '')
  if (folders.some(folder => !/^[\w.=+@-]+$/.test(folder) || /^\.+$/.test(folder))) {
    throw usage(`${source} has an invalid prefix`, 'use letters, digits and . _ - = + @ /')
  }
  const endpoint = readEndpoint(env)
  return {
    bucket,
    prefix: folders.map(folder => `${folder}/`).join(''),
    endpoint,
    region: env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || (endpoint && usualRegion),
  }
}

function readEndpoint(env: Record<string, string | undefined>): string | undefined {
  const name = env['AWS_ENDPOINT_URL_S3'] ? 'AWS_ENDPOINT_URL_S3' : 'AWS_ENDPOINT_URL'
  const text = env[name]
  if (!text) return undefined
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username + url.password !== '') {
    throw usage(`${name} is not the address of a server`, 'write https://HOST:PORT')
  }
  return text
}

/** The bucket in messages. */
export function bucketName({ bucket, prefix }: BucketSettings): string {
  return `s3://${bucket}/${prefix}`
}
