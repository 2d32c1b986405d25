import { expect } from 'chai'
import { bundlePython } from '../../../src/lib/util/python-bundle.ts'

function bundle(modules: Record<string, string>): string {
  return bundlePython(name => modules[name] ?? `"""${name}."""\n`)
}

describe('the bundle of a Python package', () => {
  it('puts each module once behind those that it imports, without imports of its own', () => {
    const modules = {
      __init__: '"""The package."""\n\n__version__ = "1"\n\nfrom .top import top\n',
      top: '"""Top."""\n\nimport re\nimport os\n\nfrom . import __version__\nfrom .left import left\nfrom .right import (\n    right,\n)\n\n\ndef top():\n    return left, right\n',
      left: '"""Left."""\n\nimport os\n\nfrom .base import base\n\nleft = base\n',
      right: '"""Right."""\n\nimport urllib.parse\n\nfrom .base import base\n\nright = base\n',
      base: '"""Base."""\n\nbase = 1\n',
    }
    const text = bundle(modules)
    expect(text.replaceAll(/-{4,}/g, '----')).to.equal(`"""The package."""

import os
import re
import urllib.parse

__version__ = "1"


# --- Base (base.py) ----


base = 1


# --- Left (left.py) ----


left = base


# --- Right (right.py) ----


right = base


# --- Top (top.py) ----


def top():
    return left, right
`)
    expect(bundle(modules)).to.equal(text)
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
