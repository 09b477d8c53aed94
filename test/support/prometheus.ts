/** A strict parser of the Prometheus text format: anything unexpected is an error. */

import assert from 'node:assert/strict'

export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Family {
  readonly type: string
  readonly help: string
  readonly samples: readonly Sample[]
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const labelPair = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/
const value = /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?Inf|NaN)$/

export function parsePrometheus(text: string): Map<string, Family> {
  assert.ok(text.endsWith('\n'), 'the last line ends with a line feed')
  const families = new Map<string, Family & { samples: Sample[] }>()
  const seen = new Set<string>()
  const lines = text.slice(0, -1).split('\n')
  for (let at = 0; at < lines.length; ) {
    const [, name, help] = /^# HELP (\S+) (.+)$/.exec(lines[at++]!) ?? assert.fail(`no HELP in line ${at}`)
    assert.match(name!, metricName)
    assert.ok(!families.has(name!), `${name} comes twice`)
    const [, typed, type] =
      /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(lines[at++] ?? '') ?? assert.fail(`no TYPE of ${name}`)
    assert.equal(typed, name)
    assert.equal(name!.endsWith('_total'), type === 'counter', `${name} is a ${type}`)
    const samples: Sample[] = []
    for (; at < lines.length && !lines[at]!.startsWith('#'); at++) {
      assert.ok(!seen.has(lines[at]!.replace(/ \S+$/, '')), `a sample comes twice: ${lines[at]}`)
      seen.add(lines[at]!.replace(/ \S+$/, ''))
      samples.push(parseSample(lines[at]!, sampleName(lines[at]!, name!, type!)))
    }
    families.set(name!, { type: type!, help: help!, samples })
  }
  return families
}

/** A histogram has samples of three names. */
function sampleName(line: string, name: string, type: string): string {
  if (type !== 'histogram') return name
  const [, suffix] = /^(_bucket|_sum|_count)[{ ]/.exec(line.slice(name.length)) ?? assert.fail(line)
  return name + suffix
}

function parseSample(line: string, name: string): Sample {
  assert.ok(line.startsWith(name), `${line} is not of ${name}`)
  let rest = line.slice(name.length)
  const labels: Record<string, string> = {}
  if (rest.startsWith('{')) {
    rest = rest.slice(1)
    while (!rest.startsWith('}')) {
      const end = rest.search(/"[,}]/)
      const [whole, label, text] =
        labelPair.exec(rest.slice(0, rest[end + 1] === ',' ? end + 2 : end + 1)) ?? assert.fail(line)
      labels[label!] = text!.replace(/\\(.)/g, (_, letter) => (letter === 'n' ? '\n' : letter))
      rest = rest.slice(whole.length)
    }
    rest = rest.slice(1)
  }
  const [, number] = /^ (\S+)$/.exec(rest) ?? assert.fail(line)
  assert.match(number!, value)
  return { labels, value: Number(number) }
}
