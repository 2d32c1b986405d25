import { bothTypes, type Case, product, request, sessionPost, shown } from '../case.ts'

const acceptHeaders = [
  bothTypes,
  null,
  '*/*',
  'application/json',
  'text/event-stream',
  'application/*, text/*',
  'text/event-stream;q=0.5, application/json;q=0.1',
  'application/json;q=0, text/event-stream',
  'Application/JSON, Text/Event-Stream',
  'text/html',
  '',
]

const contentTypes = [
  'application/json',
  'application/json; charset=utf-8',
  'Application/JSON',
  null,
  'text/plain',
  'text/plain; a=application/json',
  'application/json-rpc',
  'application/x-www-form-urlencoded',
]

/** Accept x Content-Type, on a live session and without one. */
export const mediaCases: readonly Case[] = (['live', 'none'] as const).flatMap(session =>
  product(acceptHeaders, contentTypes).map(([accept, type]) =>
    sessionPost({
      name: `media, ${session} session: Accept ${shown(accept)}, Content-Type ${shown(type)}`,
      session,
      headers: { Accept: accept, 'Content-Type': type },
      body: request('ping'),
    }),
  ),
)
