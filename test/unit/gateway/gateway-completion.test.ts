import { expect } from 'chai'
import { entry } from '../../helpers/memory-directory.ts'
import { gateway, id, other } from './gateway-harness.ts'

describe('completion at a gateway', () => {
  const given = gateway()
  given.directory.put(
    entry({ instanceId: id, dccType: 'maya' }, { health: 'dead' }),
    entry({ instanceId: 'a1b2eeee-0000-4000-8000-000000000003', dccType: 'blender' }),
    entry({ instanceId: other, dccType: 'maya' }),
  )
  given.catalog.set({ name: 'rig', description: 'd' }, { name: 'Rope', description: 'd' })
  const list = given.resources.templates()[0]?.uriTemplate ?? ''
  const cases: [ref: string, variable: string, prefix: string, values: string[]][] = [
    [
      'gateway://instances/{instance_id}',
      'instance_id',
      'A1-B2',
      ['a1b2eeee-0000-4000-8000-000000000003', id],
    ],
    ['gateway://instances/{instance_id}', 'instance_id', 'ffff', [other]],
    ['gateway://instances/{instance_id}', 'instance_id', 'zz', []],
    [list, 'dcc_type', '', ['blender', 'maya']],
    [list, 'dcc_type', 'M', ['maya']],
    [list, 'status', 's', ['stale', 'shutting_down']],
    [list, 'include_dead', '', ['true', 'false']],
    [list, 'verbose', 'f', ['false']],
    [list, 'query', '', []],
    ['gateway://diagnostics/process{?dcc_type}', 'dcc_type', 'b', ['blender']],
    ['gateway://catalog/{name}', 'name', 'r', ['rig', 'Rope']],
    ['resources://gateway/events{?limit}', 'limit', '', ['1000', '10', '100']],
    [list, 'limit', '1', ['1000', '10', '100']],
    ['gateway://catalog{?query,limit,offset}', 'limit', '', ['100', '10', '1000']],
  ]
  for (const [ref, variable, prefix, values] of cases) {
    it(`completes "${prefix}" of ${variable} in ${ref.slice(0, 40)}`, async () => {
      expect((await given.resources.complete(ref, variable, prefix)).values).to.deep.equal(values)
    })
  }

  it('has a title for everything', async () => {
    const { descriptors } = await given.resources.page(undefined)
    for (const { title, name } of [...descriptors, ...given.resources.templates()]) {
      expect(title, name).to.be.a('string').and.not.equal('')
    }
  })

  it('has a template for everything that is read and not listed', () => {
    expect(
      given.resources.templates().map(({ uriTemplate }) => uriTemplate.replace(/\{\?.*/, '')),
    ).to.deep.equal([
      'gateway://instances',
      'gateway://instances/{instance_id}',
      'gateway://diagnostics/process',
      'gateway://catalog',
      'gateway://catalog/{name}',
      'resources://gateway/events',
    ])
  })
})
