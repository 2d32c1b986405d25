import { expect } from 'chai'
import { hoistGlobalFlags } from '../../../src/lib/cli/argv.ts'
import { ServiceError } from '../../../src/lib/util/errors.ts'

const flags = {
  json: { type: 'boolean' },
  quiet: { type: 'boolean', char: 'q' },
  token: { type: 'option' },
} as const

const words = (text: string) => text.split(' ').filter(word => word !== '')

describe('hoistGlobalFlags', () => {
  const moved: [given: string, expected: string][] = [
    ['', ''],
    ['serve --json', 'serve --json'],
    ['-q serve --port 0', 'serve -q --port 0'],
    ['--token=X whoami --json', 'whoami --token=X --json'],
    ['-q --token X registry add foo', 'registry add foo -q --token X'],
    ['--token X login bob --password', 'login bob --token X --password'],
    ['--json --help', '--help --json'],
    ['--unknown serve', '--unknown serve'],
    ['--json=no serve', '--json=no serve'],
  ]
  for (const [given, expected] of moved) {
    it(`turns "${given}" into "${expected}"`, () => {
      expect(hoistGlobalFlags(words(given), flags)).to.deep.equal(words(expected))
    })
  }

  const refused: [given: string, message: string][] = [
    ['--json -q', 'no command given after --json -q'],
    ['--token X', 'no command given after --token'],
    ['--json --token', 'flag --token expects a value'],
    ['--token --json whoami', 'flag --token expects a value'],
  ]
  for (const [given, message] of refused) {
    it(`refuses "${given}"`, () => {
      expect(() => hoistGlobalFlags(words(given), flags))
        .to.throw(ServiceError, message)
        .with.property('code', 'usage_invalid')
    })
  }

  it('names the flags but not their values', () => {
    expect(() => hoistGlobalFlags(['--token=s3cret', '--json'], flags))
      .to.throw(ServiceError)
      .with.property('message')
      .that.does.not.contain('s3cret')
  })
})
