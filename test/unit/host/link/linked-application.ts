import type { Result } from '../../../../src/lib/util/result.ts'
import type { AppQuestions } from '../../../../src/server/host/link/app-requests.ts'
import { LinkedProducers, type Told } from '../../../../src/server/host/link/linked-producers.ts'
import { type Limits, resolveLimits } from '../../../../src/lib/config/limits.ts'
import type { Content } from '../../../../src/server/resources/producer.ts'
import { ResourceRegistry } from '../../../../src/server/resources/registry.ts'
import { ManualTime } from '../../resources/manual-time.ts'

/** An application that answers reads at once, and lists when told to. */
export class Application implements AppQuestions {
  readonly lists: { scheme: string; answer: (result: Result<unknown, string>) => void }[] = []

  async read(uri: string): Promise<readonly Content[]> {
    return [{ uri, text: 'live' }]
  }

  list(scheme: string): Promise<Result<unknown, string>> {
    const { promise, resolve } = Promise.withResolvers<Result<unknown, string>>()
    this.lists.push({ scheme, answer: resolve })
    return promise
  }

  async answerList(at: number, result: Result<unknown, string>): Promise<void> {
    this.lists[at]?.answer(result)
    await new Promise(setImmediate)
  }
}

export const graceMs = 60_000

/** The producers of one application in a registry, and what their listeners heard. */
export function linkedApplication(limits: Partial<Limits> = {}) {
  const time = new ManualTime()
  const all = resolveLimits({ listChangedIntervalMs: 0, linkGraceMs: graceMs, ...limits })
  const registry = new ResourceRegistry({
    limits: all,
    clock: time,
    timer: time,
    enableArtefactResources: false,
  })
  registry.addProducer({ scheme: 'docs', list: () => [], read: () => [] })
  registry.freeze()
  const heard = { lists: 0, updates: [] as string[], schemes: [] as string[] }
  registry.listen({
    listChanged: () => heard.lists++,
    resourceUpdated: uri => heard.updates.push(uri),
    schemeUpdated: scheme => heard.schemes.push(scheme),
  })
  const logged: object[] = []
  const note = (fields: object) => void logged.push(fields)
  const log = { debug: note, info: note, warn: note, error: note }
  const producers = new LinkedProducers({ registry, timer: time, limits: all, log })
  const app = new Application()
  producers.connected(app)
  const listed = async () =>
    (await registry.page(undefined)).descriptors.map(({ uri }) => uri).slice(3)
  const reading = async (uri: string): Promise<unknown> => {
    try {
      return (await registry.read(uri))[0]
    } catch (error) {
      const { code, data } = error as { code: string; data?: { reason?: string } }
      return data?.reason ?? code
    }
  }
  return { producers, registry, app, time, heard, logged, listed, reading }
}

/** Descriptors of `app://<name>`. */
export const named = (...names: string[]) => names.map(name => ({ uri: `app://${name}`, name }))
export const codeOf = (told: Told) => (told.ok ? 'ok' : told.failure.code)
