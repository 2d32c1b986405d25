import { ResourceNotFound } from '../../src/server/resources/errors.ts'
import type { Content, ResourceProducer } from '../../src/server/resources/producer.ts'

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const template = /^test:\/\/template\/([^/?#]+)\/data$/

/** What stands for `{id}` in the listed URIs of the template. */
export const ids = ['123', '124', '200']

/** The resources that the official conformance suite expects to find. */
export const producer = {
  scheme: 'test',
  list: () => [
    { uri: 'test://static-text', name: 'Static text', mimeType: 'text/plain' },
    { uri: 'test://static-binary', name: 'Static binary', mimeType: 'image/png' },
    { uri: 'test://watched-resource', name: 'Watched', mimeType: 'text/plain' },
    ...ids.map(id => {
      return { uri: `test://template/${id}/data`, name: id, mimeType: 'application/json' }
    }),
  ],
  templates: () => [
    { uriTemplate: 'test://template/{id}/data', name: 'Data by id', mimeType: 'application/json' },
  ],
  read(uri: string): Content[] {
    if (uri === 'test://static-text' || uri === 'test://watched-resource') {
      return [{ uri, mimeType: 'text/plain', text: 'a text that does not change' }]
    }
    if (uri === 'test://static-binary') return [{ uri, mimeType: 'image/png', blob: pixel }]
    const id = template.exec(uri)?.[1]
    if (id === undefined) throw new ResourceNotFound(uri)
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
    return [{ uri, mimeType: 'application/json', text }]
  },
} satisfies ResourceProducer
