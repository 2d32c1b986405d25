import { maxFieldChars } from '../messages.ts'
import type { Mode } from '../../../lib/host-link/wire.ts'
import { MemberReader } from '../../../lib/host-link/member-reader.ts'
import { omitUndefined } from '../../../lib/util/members.ts'
import { type DocumentFacts, readDccType, readDocument } from '../app-facts.ts'
import type { MessageText } from './message-parsers.ts'
import { noPictures, type PictureOfferFacts, readPictureOffer } from './pictures.ts'

export const modes = ['gui', 'background'] as const

export interface AppFacts {
  readonly dccType: string
  readonly mode: Mode
  readonly version?: string
  readonly pid?: number
  readonly displayName?: string
}

export interface HelloFacts {
  readonly type: 'hello'
  readonly protocol: readonly number[]
  readonly client: { readonly name: string; readonly version: string }
  readonly app: AppFacts
  readonly instanceId: string
  readonly document: DocumentFacts | null
  readonly capture: PictureOfferFacts
  /** It answers `refresh`, and hears of `demand`. */
  readonly refreshes: boolean
  /** It shows the notes of its document. */
  readonly showsNotes: boolean
}

export function parseHello({ reader }: MessageText): HelloFacts {
  const protocol = readVersions(reader)
  const client = new MemberReader(reader.any('client'), '/client', 'pass')
  const app = new MemberReader(reader.any('app'), '/app', 'pass')
  const name = (from: MemberReader, member: string) => from.name(member, maxFieldChars)
  const dccType = app.required('dcc_type', readDccType(app), '')
  const facts: HelloFacts = {
    type: 'hello',
    protocol,
    client: {
      name: requiredName(client, 'name', maxFieldChars),
      version: requiredName(client, 'version', maxFieldChars),
    },
    app: omitUndefined({
      dccType,
      mode: app.required('mode', app.word('mode', modes), 'gui'),
      version: name(app, 'version'),
      pid: app.integer('pid', 1, 2 ** 32),
      displayName: name(app, 'display_name'),
    }),
    instanceId: requiredName(reader, 'instance_id', maxFieldChars),
    document: readDocument(reader, 'pass'),
    capture: readPictureOffer(reader, 'pass') ?? noPictures,
    refreshes: reader.flag('scene_refresh') === true,
    showsNotes: reader.flag('notes') === true,
  }
  reader.inherit(client.failure)
  reader.inherit(app.failure)
  return facts
}

function readVersions(reader: MemberReader): readonly number[] {
  const value = reader.any('protocol')
  if (Array.isArray(value) && value.every(Number.isSafeInteger)) return value
  reader.refuse('protocol', 'must be an array of whole numbers')
  return []
}

export function requiredName(reader: MemberReader, member: string, maxChars: number): string {
  return reader.required(member, reader.name(member, maxChars), '')
}
