import { ServiceError } from '../../../lib/util/errors.ts'
import { PutOptionInvalid } from '../../artefacts/put-options.ts'
import type { Limits } from '../../../lib/config/limits.ts'
import type { ArtefactStore } from '../../artefacts/store.ts'
import { inWireName } from '../upload-options.ts'
import type { Incoming } from './message-parsers.ts'
import { LinkRefusal } from './refusal.ts'
import { Upload } from './upload.ts'

type ArtefactPut = Extract<Incoming, { type: 'artefact.put' }>

export interface ArtefactIntakeParts {
  readonly store: Pick<ArtefactStore, 'put'> | null
  readonly limits: Pick<Limits, 'maxArtefactBytes' | 'maxUploads' | 'bodyTimeoutMs'>
  pause(): void
  resume(): void
}

/** Artefacts that one application sends: their bytes come one after the other. */
export class ArtefactIntake {
  readonly #parts: ArtefactIntakeParts
  /** The one whose bytes are coming. */
  #receiving: { readonly id: string | null; readonly upload: Upload } | null = null
  /** Those that the store has not finished, whose bytes may all be here. */
  #storing = 0
  /** Those that have no room for more bytes: several at once, when a piece holds several. */
  #full = 0

  constructor(parts: ArtefactIntakeParts) {
    this.#parts = parts
  }

  /** Resolves with the members of the answer. A put before the bytes of the last one gives that up. */
  async put(message: ArtefactPut): Promise<object> {
    const { store, limits } = this.#parts
    this.#giveUp('another artefact.put came before all of its bytes')
    const { sizeBytes, sha256 } = message
    const upload = this.#uploadOf(sizeBytes, sha256)
    if (!upload.isComplete) this.#receiving = { id: message.id, upload }
    try {
      if (store === null) {
        throw new LinkRefusal('unsupported', 'artefacts are switched off on this server')
      }
      if (limits.maxArtefactBytes > 0 && sizeBytes > limits.maxArtefactBytes) {
        const most = `at most ${limits.maxArtefactBytes} bytes are taken`
        throw new LinkRefusal('limit', `the artefact has ${sizeBytes} bytes, ${most}`)
      }
      if (this.#storing >= limits.maxUploads) {
        throw new LinkRefusal('limit', `${limits.maxUploads} artefacts are being stored already`)
      }
      this.#storing++
      try {
        const { ref, existed } = await store.put(upload.bytes(), message.options)
        return { uri: ref.uri, sha256: ref.digest.replace(/^sha256:/, ''), existed }
      } finally {
        this.#storing--
      }
    } catch (error) {
      upload.refuse()
      throw asRefusal(error)
    }
  }

  /** A put that was no good: its bytes, if they come, are nobody's. */
  passOver(sizeBytes: number): void {
    this.#giveUp('another artefact.put came before all of its bytes')
    const upload = this.#uploadOf(sizeBytes, undefined)
    upload.refuse()
    this.#receiving = { id: null, upload }
  }

  abort(id: string): object {
    if (this.#receiving?.id !== id) {
      throw new LinkRefusal('not_found', 'there is no such artefact on its way')
    }
    this.#giveUp('the application gave it up')
    return {}
  }

  /** What is wrong with the bytes, as a reason to close the link. */
  feed(bytes: Buffer): string | null {
    if (this.#receiving === null) return 'a binary frame came without an artefact.put before it'
    const { upload } = this.#receiving
    if (!upload.feed(bytes)) return 'an artefact has more bytes than were announced'
    if (upload.isComplete) this.#receiving = null
    return null
  }

  close(): void {
    this.#giveUp('the link is closed')
  }

  #uploadOf(sizeBytes: number, sha256: string | undefined): Upload {
    const { limits, pause, resume } = this.#parts
    return new Upload({
      ...{ sizeBytes, sha256, timeoutMs: limits.bodyTimeoutMs },
      pause: () => {
        if (++this.#full === 1) pause()
      },
      resume: () => {
        if (--this.#full === 0) resume()
      },
    })
  }

  #giveUp(why: string): void {
    this.#receiving?.upload.fail(new LinkRefusal('mismatch', `the artefact is given up: ${why}`))
    this.#receiving = null
  }
}

function asRefusal(error: unknown): unknown {
  if (error instanceof PutOptionInvalid) {
    const { pointer, detail } = inWireName(error)
    return new LinkRefusal('invalid', `${pointer} ${detail}`.trimStart())
  }
  if (!(error instanceof ServiceError)) return error
  if (error.code === 'artefact_too_large') return new LinkRefusal('limit', error.message)
  if (error.code === 'storage_full') {
    return new LinkRefusal('limit', 'the server has no room left to store this')
  }
  return error
}
