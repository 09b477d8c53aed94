import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ProvisionedThroughput, parseThroughput, type ThroughputHeaders } from './throughput.ts'

const manualText =
  'The offer should have valid throughput values between 400 and 1000000 inclusive in increments of 100.'
const autoscaleText =
  'The offer should have valid throughput values between 1000 and 1000000 inclusive in increments of 1000.'

describe('the throughput asked for in headers', () => {
  const accepted: [headers: ThroughputHeaders, expected: ProvisionedThroughput | undefined][] = [
    [{}, undefined],
    [{ throughput: undefined, offerType: undefined, autopilot: undefined }, undefined],
    [{ throughput: '400' }, { kind: 'manual', ruPerSecond: 400 }],
    [{ throughput: '25100' }, { kind: 'manual', ruPerSecond: 25_100 }],
    [{ throughput: '1000000' }, { kind: 'manual', ruPerSecond: 1_000_000 }],
    [{ offerType: 'S2' }, { kind: 'manual', ruPerSecond: 1000 }],
    [{ autopilot: '{"maxThroughput":1000}' }, { kind: 'autoscale', maxRuPerSecond: 1000 }],
    [{ autopilot: '{"maxThroughput":7000,"autoUpgradePolicy":null}' }, { kind: 'autoscale', maxRuPerSecond: 7000 }],
    [
      { autopilot: '{"maxThroughput":5000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":11}}}' },
      { kind: 'autoscale', maxRuPerSecond: 5000, incrementPercent: 11 },
    ],
    [
      { autopilot: '{"maxThroughput":5000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":0}}}' },
      { kind: 'autoscale', maxRuPerSecond: 5000, incrementPercent: 0 },
    ],
  ]
  for (const [headers, expected] of accepted) {
    test(`${JSON.stringify(headers)} is understood`, () => assert.deepEqual(parseThroughput(headers), expected))
  }

  const refused: [headers: ThroughputHeaders, text: string][] = [
    [{ throughput: '405' }, manualText],
    [{ throughput: '1000100' }, manualText],
    [{ throughput: '300' }, `${manualText} Requested throughput 300 is less than required minimum throughput 400.`],
    [{ throughput: '-400' }, 'Requested throughput -400 is less than required minimum throughput 400'],
    [{ throughput: '' }, "'x-ms-offer-throughput' is invalid"],
    [{ throughput: 'lots' }, "'x-ms-offer-throughput' is invalid"],
    [{ throughput: '400.5' }, "'x-ms-offer-throughput' is invalid"],
    [{ throughput: '4e2' }, "'x-ms-offer-throughput' is invalid"],
    [{ throughput: '9'.repeat(400) }, "'x-ms-offer-throughput' is invalid"],
    [{ offerType: 'S9' }, "'x-ms-offer-type' is invalid"],
    [{ autopilot: '{"maxThroughput":1500}' }, autoscaleText],
    [{ autopilot: '{"maxThroughput":1001000}' }, autoscaleText],
    [{ autopilot: '{"maxThroughput":1e400}' }, autoscaleText],
    // azure-sdk-for-python, test_autoscale_create_container.
    [
      { autopilot: '{"maxThroughput":-200}' },
      'Requested throughput -200 is less than required minimum throughput 1000',
    ],
    [{ autopilot: '{"maxThroughput":"4000"}' }, "'x-ms-cosmos-offer-autopilot-settings' is invalid"],
    [{ autopilot: '{}' }, "'x-ms-cosmos-offer-autopilot-settings' is invalid"],
    [{ autopilot: '[]' }, "'x-ms-cosmos-offer-autopilot-settings' is invalid"],
    [{ autopilot: 'not JSON' }, "'x-ms-cosmos-offer-autopilot-settings' is invalid"],
    [
      { autopilot: '{"maxThroughput":1000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":-1}}}' },
      "'x-ms-cosmos-offer-autopilot-settings' is invalid",
    ],
    [{ throughput: '400', autopilot: '{"maxThroughput":1000}' }, 'Only one of the headers'],
    [{ throughput: '400', offerType: 'S1' }, 'Only one of the headers'],
  ]
  for (const [headers, text] of refused) {
    test(`${JSON.stringify(headers).slice(0, 100)} is refused`, () => {
      assert.throws(
        () => parseThroughput(headers),
        (error: Error & { kind?: string }) => error.kind === 'malformed' && error.message.includes(text),
      )
    })
  }
})
