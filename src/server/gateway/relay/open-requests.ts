import { ServiceError } from '../../../lib/util/errors.ts'
import type { Reader, RelayedJson } from '../../resources/producer.ts'
import { Departure } from './departure.ts'

/** At one instance; those of all users are bounded by `InstanceReads` and `InstanceCalls`. */
const maxOpen = 100

/** The requests that are open at each instance, so that they can be ended. */
export class OpenRequests {
  readonly #open = new Map<string, Set<Departure>>()

  /** Runs a request. `reader` leaves with the caller, or at the `end`. Rejects beyond the bound. */
  async run<Answer>(
    instanceId: string,
    caller: Reader | undefined,
    ask: (reader: Reader) => Promise<Answer>,
  ): Promise<Answer> {
    const open = this.#open.get(instanceId) ?? new Set()
    if (open.size >= maxOpen) {
      const message = `${maxOpen} requests of the user are open at the instance; wait for one of them`
      throw new ServiceError('overloaded', message)
    }
    const reader = new Departure(caller)
    this.#open.set(instanceId, open.add(reader))
    const close = (): void => {
      reader.release()
      open.delete(reader)
      if (open.size === 0 && this.#open.get(instanceId) === open) this.#open.delete(instanceId)
    }
    let isStreamed = false
    try {
      const answer = await ask(reader)
      if (!isStream(answer)) return answer
      isStreamed = true
      reader.onLeave(close)
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
    for (const reader of this.#open.get(instanceId) ?? []) reader.leave()
  }
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
