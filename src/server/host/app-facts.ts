import { omitUndefined } from '../../lib/util/members.ts'
import { isJsonObject } from '../../lib/util/json.ts'
import { type MemberFailure, MemberReader } from '../../lib/host-link/member-reader.ts'
import type { Result } from '../../lib/util/result.ts'

const maxDocumentChars = 4096

/** What is open in the application; empty when it said nothing of it. */
export interface DocumentFacts {
  readonly path?: string
  readonly name?: string
  readonly modified?: boolean
  /** Path, or name without one, that it had before it was saved under this path. */
  readonly savedFrom?: string
}

/** What an application says of itself that only posts. */
export interface PostedApp {
  /** Absent: as given at the start of the server. */
  readonly dccType?: string
  readonly document: DocumentFacts | null
}

/** `{"document":{…},"dcc_type":…}` */
export function parseAppPost(body: unknown): Result<PostedApp, MemberFailure> {
  const reader = new MemberReader(body, '')
  if (isJsonObject(body) && !Object.hasOwn(body, 'document')) {
    reader.refuse('document', 'is required: an object or null')
  }
  const document = readDocument(reader, 'refuse')
  return reader.finish(omitUndefined({ dccType: readDccType(reader), document }))
}

export function readDccType(reader: MemberReader): string | undefined {
  const dccType = reader.name('dcc_type', 64)
  if (dccType === undefined || /^[a-z0-9][a-z0-9_-]*$/.test(dccType)) return dccType
  return reader.refuse('dcc_type', 'must be lower-case letters, digits, _ and -')
}

export function readDocument(
  reader: MemberReader,
  others: 'refuse' | 'pass',
): DocumentFacts | null {
  const value = reader.any('document')
  if (value === undefined) return null
  const document = new MemberReader(value, '/document', others)
  const facts = omitUndefined({
    path: documentText(document, 'path'),
    name: documentText(document, 'name'),
    modified: document.flag('modified'),
    savedFrom: documentText(document, 'saved_from'),
  })
  reader.inherit(document.failure)
  return facts
}

/** File names may hold anything. One of no characters says as little as none. */
function documentText(
  document: MemberReader,
  member: 'path' | 'name' | 'saved_from',
): string | undefined {
  const text = document.text(member)
  if (text === undefined || text.length <= maxDocumentChars) return text || undefined
  return document.refuse(member, `must not be longer than ${maxDocumentChars} characters`)
}
