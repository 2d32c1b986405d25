import { usage } from '../../lib/util/errors.ts'

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
