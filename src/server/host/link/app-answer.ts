import { maxFieldChars } from '../messages.ts'
import type { ServiceError } from '../../../lib/util/errors.ts'
import { type Result, fail, ok } from '../../../lib/util/result.ts'
import { ResourceNotFound, ResourceUriInvalid, applicationWords } from '../../resources/errors.ts'
import type { Content } from '../../resources/producer.ts'
import { contentForm } from '../../resources/producer-check.ts'
import { withoutNulls } from './parse-offer.ts'
import { hostFailure } from './failures.ts'

/** An answer of the application, its envelope checked; the other members are as they came. */
export type AppReply =
  | { readonly type: 'ok'; readonly id: string; readonly [member: string]: unknown }
  | {
      readonly type: 'error'
      readonly id: string
      /** One of `LinkErrorCode`, or of a later version of the protocol. */
      readonly code: string
      readonly message: string
    }

type ErrorReply = Extract<AppReply, { type: 'error' }>

interface ReadFailure {
  /** For the reader. */
  readonly error: ServiceError
  /** For the log; null when there is nothing wrong with the application. */
  readonly trouble: string | null
}

/** What the reader of `uri` gets for the application's answer: docs/host-link.md, "read". */
export function readOutcome(uri: string, reply: AppReply): Result<readonly Content[], ReadFailure> {
  if (reply.type === 'ok') {
    const contents = parseContents(reply['contents'])
    return contents === null ? failed('contents of the wrong form') : ok(contents)
  }
  const message = shortMessage(reply)
  switch (reply.code) {
    case 'not_found':
      return fail({ error: new ResourceNotFound(uri, message), trouble: null })
    case 'invalid': {
      const words = applicationWords(message)
      const error = new ResourceUriInvalid(`the application refuses the URI${words}`)
      return fail({ error, trouble: null })
    }
    case 'busy':
      return fail({ error: hostFailure('host_busy', message), trouble: null })
    case 'unsupported':
      return fail({ error: hostFailure('host_failed', message), trouble: null })
    default:
      return failed(describeError(reply))
  }
}

/** For the log. */
export function describeError(reply: ErrorReply): string {
  return `${reply.code.slice(0, maxFieldChars)}: ${shortMessage(reply)}`
}

function shortMessage({ message }: ErrorReply): string {
  return message.slice(0, maxFieldChars).toWellFormed()
}

function failed(trouble: string): Result<never, ReadFailure> {
  return fail({ error: hostFailure('host_failed'), trouble })
}

/** Frozen, so that all readers of one answer share its serialisation. */
function parseContents(raw: unknown): readonly Content[] | null {
  if (!Array.isArray(raw)) return null
  const contents: Content[] = []
  for (const item of raw) {
    const { success, data } = contentForm.safeParse(withoutNulls(item))
    if (!success) return null
    contents.push(data as Content)
  }
  return Object.freeze(contents)
}
