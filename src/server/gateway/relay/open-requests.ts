import { onAbort } from '../../../lib/util/abort.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { Reader, RelayedJson } from '../../resources/producer.ts'

/** At one instance; those of all users are bounded by `InstanceReads` and `InstanceCalls`. */
const maxOpen = 100
/** A user who leaves their answers unread leaves large ones to the others. */
const maxLarge = 32

/** At one instance. */
interface Open {
  readonly all: Set<AbortController>
  /** Those of them whose answers are streamed. */
  readonly large: Set<AbortController>
}

/** The requests of one user that are open at each instance, so that they can be ended. */
export class OpenRequests {
  readonly #open = new Map<string, Open>()

  /** Runs a request. `reader` leaves with the caller, or at the `end`. Rejects beyond the bound. */
  async run<Answer>(
    instanceId: string,
    caller: Reader | undefined,
    ask: (reader: Reader) => Promise<Answer>,
  ): Promise<Answer> {
    const open = this.#open.get(instanceId) ?? { all: new Set(), large: new Set() }
    const { all, large } = open
    if (all.size >= maxOpen) {
      const message = `${maxOpen} requests of the user are open at the instance; wait for one of them`
      throw new ServiceError('overloaded', message)
    }
    const request = new AbortController()
    const reader = readerUntil(caller, request.signal)
    all.add(request)
    this.#open.set(instanceId, open)
    const close = (): void => {
      large.delete(request)
      all.delete(request)
      if (all.size === 0 && this.#open.get(instanceId) === open) this.#open.delete(instanceId)
    }
    let isStreamed = false
    try {
      const answer = await ask(reader)
      if (!isStream(answer)) return answer
      if (large.size >= maxLarge) {
        answer.discard()
        const message = `${maxLarge} large reads of the user are open at the instance; end one`
        throw new ServiceError('overloaded', message)
      }
      isStreamed = true
      large.add(request)
      onAbort(reader.signal, close)
      const stream: RelayedJson = {
        open: cut => untilEnd(answer.open(cut), close),
        discard() {
          close()
          answer.discard()
        },
      }
      return stream as Answer
    } finally {
      if (!isStreamed) close()
    }
  }

  /** Every reader of the instance leaves. */
  end(instanceId: string): void {
    for (const request of this.#open.get(instanceId)?.all ?? []) {
      request.abort(new ServiceError('cancelled', 'the instance is not visible any more'))
    }
  }
}

/** A reader that leaves when the caller does, or when the signal is aborted. */
export function readerUntil(caller: Reader | undefined, signal: AbortSignal): Reader {
  if (caller === undefined) return { signal }
  return { signal: AbortSignal.any([caller.signal, signal]), isReadOnly: caller.isReadOnly }
}

function isStream(answer: unknown): answer is RelayedJson {
  return typeof answer === 'object' && answer !== null && 'open' in answer
}

async function* untilEnd(
  bytes: AsyncIterable<Uint8Array>,
  ended: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } finally {
    ended()
  }
}
