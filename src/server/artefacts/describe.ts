import { type Clock, toRfc3339 } from '../../lib/util/time.ts'
import { artefactUri } from '../../lib/mcp/uris.ts'
import { laterExpiry } from './expiry.ts'
import type { PutFields } from './put-options.ts'
import type { ArtefactOrigin, ArtefactRef } from './store.ts'

interface StoredBytes {
  readonly hex: string
  /** Bytes. */
  readonly size: number
  /** What is stored of the same bytes; null when it is missing or expired. */
  readonly previous: ArtefactRef | null
}

/** Makes the reference of bytes that are stored now. */
export type Describe = (stored: StoredBytes) => ArtefactRef

export const noOrigin: ArtefactOrigin = Object.freeze({ instance_id: null, dcc_type: null })

interface Describing {
  readonly clock: Clock
  readonly limits: { readonly artefactTtlMs: number }
  readonly origin: () => ArtefactOrigin
}

/** Describes bytes that are put: the newest metadata, the later expiry. */
export function describePut({ clock, limits, origin }: Describing, fields: PutFields): Describe {
  return ({ hex, size, previous }) => {
    const created = { created_at: toRfc3339(clock.now()), expires_at: fields.expires_at }
    const { instance_id, dcc_type } = origin()
    return Object.freeze({
      uri: artefactUri(hex),
      mime: fields.mime,
      size_bytes: size,
      display_name: fields.display_name,
      digest: `sha256:${hex}`,
      session_id: fields.session_id,
      tool_call_id: fields.tool_call_id,
      job_id: fields.job_id,
      correlation_id: fields.correlation_id,
      instance_id,
      dcc_type,
      created_at: created.created_at,
      expires_at:
        previous === null
          ? created.expires_at
          : laterExpiry(previous, created, limits.artefactTtlMs),
      metadata: fields.metadata,
    })
  }
}
