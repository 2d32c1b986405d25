import { expect } from 'chai'
import { artefactTable } from '../../../src/commands/artefacts/list.ts'
import { firstOfEach, fits, resourceTable } from '../../../src/commands/resources/list-table.ts'
import { parseListed } from '../../../src/lib/mcp/client/ask.ts'

const nowMs = Date.parse('2026-01-02T03:04:05Z')

describe('tables of resources', () => {
  it('shows what is known and keeps the terminal safe', () => {
    const known = { uri: 'scene://current', title: 'Current scene', size: 1500 }
    const modified = (lastModified: string) => ({ annotations: { lastModified } })
    const listed = parseListed(
      [
        { ...known, mimeType: 'application/json', ...modified('2026-01-02T03:01:05Z') },
        { uri: 'x://\u001b[31mred', name: 'a\nb', size: -1, ...modified('no') },
        { name: 'no uri' },
        7,
      ],
      'uri',
    )
    expect(resourceTable(listed, nowMs).split('\n')).to.deep.equal([
      'NAME           TYPE              SIZE    MODIFIED   URI',
      'Current scene  application/json  1.5 kB  3 min ago  scene://current',
      'a b            -                 -       -          x://red',
    ])
  })

  it('shows artefacts by the beginning of their hash', () => {
    const hex = '3fa1b2c4d5e6'.padEnd(64, '0')
    const meta = { 'service-cli/artefact': { expires_at: '2026-01-02T05:04:05Z' } }
    const uri = `artefact://sha256/${hex}`
    const named = { uri, name: 'a.png', mimeType: 'image/png', size: 9, _meta: meta }
    const listed = parseListed([named, { uri, name: hex }], 'uri')
    expect(artefactTable(listed, nowMs).split('\n')).to.deep.equal([
      'SHA256        NAME   TYPE       SIZE  STORED  EXPIRES',
      '3fa1b2c4d5e6  a.png  image/png  9 B   -       in 2 h',
      '3fa1b2c4d5e6  -      -          -     -       -',
    ])
  })

  it('shows a screen of two thousand objects, by scheme, and says how many are left', () => {
    const objects = Array.from({ length: 2000 }, (_, at) => {
      return { uri: `scene://object/${at}`, name: `Lamp ${at}` }
    })
    const others = ['audit://recent', 'scene://current'].map(uri => ({ uri, name: 'a' }))
    const listed = parseListed(objects.concat(others), 'uri')
    const { shown, left } = firstOfEach(listed)
    const last = shown.map(({ uri }) => uri).slice(-2)
    expect(last).to.deep.equal(['scene://object/11', 'audit://recent'])
    expect(left).to.deep.equal([{ scheme: 'scene', count: 1989 }])
    expect(listed.filter(fits('LAMP 19')).length).to.equal(111)
    expect(listed.filter(fits('object/7')).length).to.equal(111)
  })
})
