import { expect } from 'chai'
import type { ResourceProducer } from '../../../src/server/resources/producer.ts'
import type { SchemeProducer } from '../../../src/server/resources/scheme-producer.ts'
import { SessionEventBuffer } from '../../../src/server/resources/session-event-buffer.ts'
import { registry } from './support.ts'

const artefacts: SchemeProducer = {
  read: () => [],
  templates: () => [{ uriTemplate: 'artefact://sha256/{hex}', name: 'Artefact' }],
  complete: (_, prefix) => ['abc', 'abd'].filter(hex => hex.startsWith(prefix)),
}
const docs: ResourceProducer = {
  scheme: 'docs',
  list: () => ['docs://x1', 'docs://y'].map(uri => ({ uri, name: uri })),
  read: () => [],
  templates: () => [{ uriTemplate: 'docs://{page}', name: 'Page' }],
}

describe('completion', () => {
  const resources = registry({}, artefacts)
  for (let n = 0; n < 150; n++) {
    resources.registerSessionEventBuffer(new SessionEventBuffer({ sessionId: `s${n}` }))
  }
  resources.addProducer(docs)
  const events = 'events://session/{session_id}{?cursor,limit,drain}'

  const cases: [template: string, variable: string, prefix: string, values: string[]][] = [
    [
      events,
      'session_id',
      's14',
      ['s14', 's140', 's141', 's142', 's143', 's144', 's145', 's146', 's147', 's148', 's149'],
    ],
    ['docs://{page}', 'page', 'x', ['x1']],
  ]
  for (const [template, variable, prefix, values] of cases) {
    it(`completes "${prefix}" for ${variable} in ${template}`, async () => {
      expect(await resources.complete(template, variable, prefix)).to.deep.equal({ values })
    })
  }
})
