import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { gatewayEventKinds } from '../../../src/server/gateway/event-ring.ts'
import { entry } from '../../helpers/instances.ts'
import { gateway, id, json } from './gateway-harness.ts'

const page = new URL('../../../docs/gateway.md', import.meta.url)
const document = readFileSync(page, 'utf8')

/** The JSON blocks below a heading. */
function samples(heading: string): any[] {
  const section = document.split(/^#+ /m).find(text => text.startsWith(heading)) ?? ''
  const blocks = section.matchAll(/^```json\n(.*?)^```$/gms)
  return Array.from(blocks, ([, text = '']) => JSON.parse(text))
}

/** The names of all members, at every depth. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shape(value[0])]
  if (typeof value !== 'object' || value === null) return null
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shape(member)]))
}

describe('docs/gateway.md', () => {
  const given = gateway()
  given.directory.put(entry({ instance_id: id }))

  const payloads: [heading: string, uri: string][] = [
    ['`gateway://instances`', 'gateway://instances'],
    ['`resources://gateway/events`', 'resources://gateway/events'],
  ]
  for (const [heading, uri] of payloads) {
    it(`shows every member of ${uri}`, async () => {
      expect(shape(samples(heading)[0])).to.deep.equal(shape(await json(given, uri)))
    })
  }

  it('has a row for every kind of event, and for no other', () => {
    const section = document.slice(document.indexOf('| `event` | What happened |'))
    const rows = Array.from(
      section.matchAll(/^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|/gm),
      ([, names = '']) => names.replaceAll('`', '').split(', '),
    )
    const named = rows.flat().filter(name => name !== 'event')
    expect(named.toSorted()).to.deep.equal([...gatewayEventKinds].toSorted())
  })

  it('lists the URIs that there are', () => {
    for (const { uriTemplate } of given.resources.templates()) {
      expect(document).to.include(`| \`${uriTemplate}\` |`)
    }
  })
})
