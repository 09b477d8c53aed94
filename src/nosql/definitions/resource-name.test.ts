import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkItemId, missingIdText, parseResourceId } from './resource-name.ts'

const tooLongText = (max: number) => `Ensure to provide a unique non-empty string less than '${max}' characters.`

function refusal(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    assert.equal((error as { kind?: string }).kind, 'malformed')
    return (error as Error).message
  }
  return 'accepted'
}

describe('the id of a database or container', () => {
  for (const id of [
    'shop',
    ' leading space',
    'with space',
    "!@$%^&*()-~`'_[]{}|;:,.<>", // azure-sdk-for-python, test_id_unicode_validation
    'हिन्दी भारत की',
    '鱀',
    'x'.repeat(255),
  ]) {
    test(`${JSON.stringify(id).slice(0, 40)} is accepted as it is`, () => assert.equal(parseResourceId(id), id))
  }

  const refused: [id: unknown, text: string][] = [
    ['a/b', "The resource name presented contains invalid character '/'."],
    ['a\\b', "The resource name presented contains invalid character '\\'."],
    ['a?b', "The resource name presented contains invalid character '?'."],
    ['a#b', "The resource name presented contains invalid character '#'."],
    ['a ', "The resource name can't end with space."],
    ['', tooLongText(255)],
    ['x'.repeat(256), tooLongText(255)],
    [undefined, missingIdText],
    [null, missingIdText],
    [7, 'One of the specified inputs is invalid'],
    [['a'], 'One of the specified inputs is invalid'],
    ['\ud800', 'One of the specified inputs is invalid'],
  ]
  for (const [id, text] of refused) {
    test(`${String(JSON.stringify(id)).slice(0, 40)} is refused`, () => {
      assert.ok(refusal(() => parseResourceId(id)).includes(text))
    })
  }
})

describe('the id of an item', () => {
  /**
   * What the service answers to a create, on its routing and its compute gateway. NET:
   * azure-cosmos-dotnet-v3, CosmosItemIdEncodingTestsBase. JS: azure-sdk-for-js, itemIdEncoding.spec. JS
   * refuses / \ and # before sending, so NET is the only source for those.
   */
  const created: [id: string, source: string][] = [
    ['Test', 'NET PlainVanillaId, JS'],
    ['This is a test', 'NET IdWithWhitespaces, JS'],
    [' Test', 'NET IdStartingWithWhitespace, JS'],
    ['Test ', 'NET IdEndingWithWhitespace, JS'],
    ['Test   ', 'NET IdEndingWithWhitespaces, JS'],
    ['WithUnicode鱀', 'NET IdWithUnicodeCharacters, JS'],
    ['WithAllowedSpecial,=.:~+-@()^$' + '{}[]!_Chars', 'NET IdWithAllowedSpecialCharacters, JS'],
    ['IdEndingWithPercentEncodedWhitespace%20', 'NET, JS'],
    ['WithPercentEncodedSpecialChar%E9%B1%80', 'NET IdWithPercentEncodedSpecialChar, JS'],
    ['Disallowed?Chars', 'NET IdWithDisallowedCharQuestionMark, JS'],
    ['Disallowed/Chars', 'NET IdWithDisallowedCharForwardSlash: 201'],
    ['Disallowed\\Chars', 'Go IdWithDisallowedCharBackSlash: 201 (400 in NET, whose body is no JSON)'],
    ['Disallowed#Chars', 'NET IdWithDisallowedCharPoundSign: 201'],
    ['With\rCarriageReturn', 'NET IdWithCarriageReturn, JS'],
    ['With\tTab', 'NET IdWithTab, JS'],
    ['With\nLineFeed', 'NET IdWithLineFeed, JS'],
    ['x'.repeat(1023), 'documented limit: 1023 bytes'],
    ['鱀'.repeat(341), 'documented limit: 1023 bytes'],
  ]
  for (const [id, source] of created) {
    test(`${JSON.stringify(id).slice(0, 48)} is accepted (${source})`, () => assert.equal(checkItemId(id), id))
  }

  const refused: [id: unknown, text: string][] = [
    ['', tooLongText(1024)],
    ['x'.repeat(1024), tooLongText(1024)],
    ['鱀'.repeat(342), tooLongText(1024)],
    [undefined, missingIdText],
    [null, missingIdText],
    [7, 'One of the specified inputs is invalid'],
    [{}, 'One of the specified inputs is invalid'],
    ['\udfff', 'One of the specified inputs is invalid'],
  ]
  for (const [id, text] of refused) {
    test(`${String(JSON.stringify(id)).slice(0, 40)} is refused`, () => {
      assert.ok(refusal(() => checkItemId(id)).includes(text))
    })
  }

  test('an error text does not repeat a long id', () => {
    assert.ok(refusal(() => checkItemId('x'.repeat(100_000))).length < 250)
  })
})
