import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import type { Content, ResourceProducer } from '../../../src/server/resources/producer.ts'
import type { SchemeProducer } from '../../../src/server/resources/scheme-producer.ts'
import { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import { ManualTime } from './manual-time.ts'
import { serverDefaults, type ServerLimits } from '../../../src/server/http/limits.ts'

export function registry(limits: Partial<ServerLimits> = {}, artefacts?: SchemeProducer) {
  return new ResourceRegistry({ limits: { ...serverDefaults, ...limits }, artefacts })
}

/** Built-in resources answer at once, never with a promise. */
export function contents(resources: ResourceRegistry, uri: string): readonly Content[] {
  const answer = resources.read(uri)
  if (answer instanceof Promise) throw new Error(`${uri} was not read synchronously`)
  return answer
}

export function payload(resources: ResourceRegistry, uri: string): Record<string, unknown> {
  const [content, ...more] = contents(resources, uri)
  if (content === undefined || !('text' in content)) throw new Error(`${uri} has no text`)
  expect(more).to.deep.equal([])
  expect(content).to.include({ uri, mimeType: 'application/json' })
  return JSON.parse(content.text) as Record<string, unknown>
}

export function codeOf(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
  return 'none'
}

export const good = [{ uri: 'docs://a', name: 'A' }]
export const never = () => new Promise<never>(() => {})
export const secret = 'Error: /home/artist/secret.ma'
export const fail = (): never => {
  throw new Error(secret)
}

export function serving(producer: object, limits: Partial<ServerLimits> = {}) {
  const time = new ManualTime()
  const logged: object[] = []
  const note = (fields: object) => void logged.push(fields)
  const resources = new ResourceRegistry({
    limits: { ...serverDefaults, ...limits },
    timer: time,
    log: { debug: note, info: note, warn: note, error: note },
  })
  const base: ResourceProducer = { scheme: 'docs', list: () => good, read: () => [] }
  resources.addProducer(Object.assign(base, producer))
  return { resources, time, logged }
}
