import { expect } from 'chai'
import { bundlePython } from '../../../src/commands/adapter/python-bundle.ts'

function bundle(modules: Record<string, string>): string {
  return bundlePython(name => modules[name] ?? `"""${name}."""\n`)
}

describe('the bundle of a Python package', () => {
  it('puts each module once behind those that it imports, without imports of its own', () => {
    const text = bundle({
      __init__: '"""The package."""\n\n__version__ = "1"\n\nfrom .top import top\n',
      top: '"""Top."""\n\nimport os\n\nfrom .base import base\nfrom .right import (\n    right,\n)\n\ntop = right\n',
      right: '"""Right."""\n\nimport re\nimport os\n\nfrom .base import base\n\nright = base\n',
      base: '"""Base."""\n\nbase = 1\n',
    })
    const lines = text.split('\n').filter(line => line !== '')
    expect(lines.map(line => line.replace(/ -{4,}/, ''))).to.deep.equal([
      '"""The package."""',
      'import os',
      'import re',
      '__version__ = "1"',
      '# --- Base (base.py)',
      'base = 1',
      '# --- Right (right.py)',
      'right = base',
      '# --- Top (top.py)',
      'top = right',
    ])
  })

  it('keeps the word import in docstrings', () => {
    const doc = 'def f():\n    """Reads\n    from here to there,\n    import or not."""'
    expect(bundle({ __init__: `${doc}\n` })).to.equal(`${doc}\n`)
  })

  const refused: { name: string; modules: Record<string, string> }[] = [
    { name: 'a circle', modules: { a: 'from .b import b\n', b: 'from .a import a\n' } },
    { name: 'a new name', modules: { a: 'from .b import b as c\n' } },
    { name: 'a library by name', modules: { a: 'from os import path\n' } },
    { name: 'an import inside of a function', modules: { a: 'def f():\n    import os\n' } },
  ]
  for (const { name, modules } of refused) {
    it(`refuses ${name}`, () => {
      expect(() => bundle({ __init__: 'from .a import a\n', ...modules })).to.throw(/import/)
    })
  }
})
