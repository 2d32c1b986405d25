import { expect } from 'chai'
import fc from 'fast-check'
import { templateValues } from '../../../src/server/resources/completion.ts'

type Case = [template: string, variable: string, uris: string[], values: string[]]

describe('templateValues', () => {
  const cases: Case[] = [
    ['app://{name}', 'name', ['app://Cube', 'app://Lamp'], ['Cube', 'Lamp']],
    ['app://{name}', 'name', ['app://Cube', 'app://Cube', 'other://Cube'], ['Cube']],
    [
      'app://{name}',
      'name',
      ['app://A%20B', "app://it's", 'app://%E9', 'app://%'],
      ['A B', "it's"],
    ],
    ['app://{name}', 'name', ['app://a/b', 'app://', 'app://a?b', 'app://a#b'], []],
    ['app://{name}', 'other', ['app://Cube'], []],
    ['app://{kind}/{name}', 'kind', ['app://mesh/Cube', 'app://mesh/Cone', 'app://x'], ['mesh']],
    ['app://{kind}/{name}', 'name', ['app://mesh/Cube', 'app://light/Sun'], ['Cube', 'Sun']],
    [
      'app://{name}.json',
      'name',
      ['app://a.json', 'app://a.json.json', 'app://b'],
      ['a', 'a.json'],
    ],
    ['app://{name}/v{number}', 'number', ['app://a/v1', 'app://a/v12', 'app://a/w1'], ['1', '12']],
    ['app://{name}/v{number}/x', 'number', ['app://a/v1/x', 'app://a/v1/y'], ['1']],
    ['app://{a}/{a}', 'a', ['app://x/x', 'app://x/y'], ['x']],
    ['app://{name}{?frame}', 'name', ['app://Cube'], ['Cube']],
    ['app://{name}{?frame}', 'frame', ['app://Cube', 'app://Cube?frame=1'], []],
    // What has no one way back.
    ['app://{a}{b}', 'a', ['app://xy'], []],
    ['app://{+path}', 'path', ['app://a/b'], []],
    ['app://{path*}', 'path', ['app://a'], []],
    ['app://{a,b}', 'a', ['app://a,b'], []],
    ['app://{a:3}', 'a', ['app://abc'], []],
    ['app://{}', '', ['app://a'], []],
    ['app://{?a}{b}', 'b', ['app://x'], []],
  ]
  for (const [uriTemplate, variable, uris, values] of cases) {
    it(`${variable} of ${uriTemplate} in ${uris.join(' ')}: ${values.join(' ') || 'none'}`, () => {
      const context = { uriTemplate, resolved: new Map<string, string>() }
      expect(templateValues(context, variable, uris)).to.deep.equal(values)
    })
  }

  it('leaves out what does not go with the values chosen for the other variables', () => {
    const uriTemplate = 'app://{kind}/{name}'
    const uris = ['app://mesh/Cube', 'app://light/Sun', 'app://mesh/Cone']
    const resolved = new Map([
      ['kind', 'mesh'],
      ['name', 'Sun'],
      ['unknown', 'x'],
    ])
    expect(templateValues({ uriTemplate, resolved }, 'name', uris)).to.deep.equal(['Cube', 'Cone'])
  })

  it('finds every value that was put into a template', () => {
    const value = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(value, value, (kind, name) => {
        const uri = `app://${encodeURIComponent(kind)}/x/${encodeURIComponent(name)}/y`
        const context = { uriTemplate: 'app://{kind}/x/{name}/y', resolved: new Map() }
        expect(templateValues(context, 'kind', [uri])).to.deep.equal([kind])
        expect(templateValues(context, 'name', [uri])).to.deep.equal([name])
      }),
    )
  })

  it('goes through a hostile template once', () => {
    const uriTemplate = `app://${'{a}/'.repeat(500)}{a}`
    const uris = Array.from({ length: 200 }, () => `app://${'x/'.repeat(1000)}`)
    const context = { uriTemplate, resolved: new Map<string, string>() }
    expect(templateValues(context, 'a', uris)).to.deep.equal([])
  })
})
