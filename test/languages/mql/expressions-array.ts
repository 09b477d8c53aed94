/** Cases of arrays, sets and documents. Sources: the manual, and MongoDB's own unit tests. */

import { decimal, double, type ExpressionCases, fails, long, missing } from './aggregate-case.ts'

export const arrayCases: ExpressionCases = {
  $allElementsTrue: [
    [{ $allElementsTrue: [[true, 1, 'someString']] }, true],
    [{ $allElementsTrue: [[[false]]] }, true],
    [{ $allElementsTrue: [[]] }, true],
    [{ $allElementsTrue: [[null, false, 0]] }, false],
    [{ $allElementsTrue: '$missing' }, fails(17040)],
  ],
  $anyElementTrue: [
    [{ $anyElementTrue: [[true, false]] }, true],
    [{ $anyElementTrue: [[[false]]] }, true],
    [{ $anyElementTrue: [[null, false, 0]] }, false],
    [{ $anyElementTrue: [[]] }, false],
    [{ $anyElementTrue: [null] }, fails(17041)],
  ],
  $arrayElemAt: [
    [{ $arrayElemAt: ['$favorites', 0] }, 'chocolate', { favorites: ['chocolate', 'cake', 'butter', 'apples'] }],
    [{ $arrayElemAt: [[1, 2, 3], -2] }, 2],
    [{ $arrayElemAt: [[1, 2, 3], 15] }, missing],
    [{ $arrayElemAt: [[1, 2, 3], -4] }, missing],
    [{ $arrayElemAt: [null, 0] }, null],
    [{ $arrayElemAt: ['x', 0] }, fails(28689)],
    [{ $arrayElemAt: [[1], 'x'] }, fails(28690)],
    [{ $arrayElemAt: [[1], 1.5] }, fails(28691)],
  ],
  $concatArrays: [
    [{ $concatArrays: [['hello', ' '], ['world']] }, ['hello', ' ', 'world']],
    [
      {
        $concatArrays: [
          ['hello', ' '],
          [['world'], 'again'],
        ],
      },
      ['hello', ' ', ['world'], 'again'],
    ],
    [{ $concatArrays: [] }, []],
    [{ $concatArrays: [[1], null] }, null],
    [{ $concatArrays: [[1], '$missing'] }, null],
    [{ $concatArrays: [[1], 2] }, fails(28664)],
  ],
  $filter: [
    [
      { $filter: { input: '$items', as: 'item', cond: { $gte: ['$$item.price', 100] } } },
      [{ price: 110 }, { price: 200 }],
      { items: [{ price: 110 }, { price: 4 }, { price: 200 }] },
    ],
    [
      { $filter: { input: [1, 'a', 2, null, 3.1, long(4), '5'], as: 'num', cond: { $isNumber: '$$num' } } },
      [1, 2, 3.1, long(4)],
    ],
    [{ $filter: { input: [1, 2, 3], cond: { $gt: ['$$this', 1] }, limit: 1 } }, [2]],
    [{ $filter: { input: null, cond: true } }, null],
    [{ $filter: { input: [], cond: true } }, []],
    [{ $filter: { input: 1, cond: true } }, fails(28651)],
    [{ $filter: { input: [1] } }, fails(28650)],
    [{ $filter: { cond: 1 } }, fails(28648)],
    [{ $filter: { input: [1], cond: 1, limit: 0 } }, fails(327392)],
    [{ $filter: { input: [1], cond: 1, limit: 'x' } }, fails(327391)],
    [{ $filter: 1 }, fails(28646)],
    [{ $filter: { input: [1], cond: 1, other: 1 } }, fails(28647)],
  ],
  $first: [
    [{ $first: '$log' }, 'a', { log: ['a', 'b'] }],
    [{ $first: [[]] }, missing],
    [{ $first: null }, null],
    [{ $first: 'x' }, fails(28689)],
  ],
  $in: [
    [{ $in: [2, [1, 2, 3]] }, true],
    [{ $in: ['abc', ['xyz', 'abc']] }, true],
    [{ $in: [['a'], ['a']] }, false],
    [{ $in: [['a'], [['a']]] }, true],
    [{ $in: [long(1), [decimal('1.0')]] }, true],
    [{ $in: ['$missing', [null]] }, false],
    [{ $in: [1, null] }, fails(40081)],
  ],
  $indexOfArray: [
    [{ $indexOfArray: [['a', 'abc'], 'a'] }, 0],
    [{ $indexOfArray: [['a', 'abc', 'de', ['de']], ['de']] }, 3],
    [{ $indexOfArray: [[1, 2], 5] }, -1],
    [
      {
        $indexOfArray: [
          [1, 2, 3],
          [1, 2],
        ],
      },
      -1,
    ],
    [{ $indexOfArray: [[10, 9, 9, 8, 9], 9, 3] }, 4],
    [{ $indexOfArray: [['a', 'abc', 'b'], 'b', 0, 1] }, -1],
    [{ $indexOfArray: [['a', 'abc', 'b'], 'b', 1, 0] }, -1],
    [{ $indexOfArray: [null, 'foo'] }, null],
    [{ $indexOfArray: ['foo', 'foo'] }, fails(40090)],
    [{ $indexOfArray: [[1], 1, -1] }, fails(40097)],
  ],
  $isArray: [
    [{ $isArray: 'hello' }, false],
    [{ $isArray: ['hello'] }, false],
    [{ $isArray: [['hello']] }, true],
    [{ $isArray: '$missing' }, false],
  ],
  $last: [
    [{ $last: '$log' }, 'b', { log: ['a', 'b'] }],
    [{ $last: [[]] }, missing],
    [{ $last: '$missing' }, null],
    [{ $last: 1 }, fails(28689)],
  ],
  $map: [
    [{ $map: { input: '$quizzes', as: 'grade', in: { $add: ['$$grade', 2] } } }, [7, 8, 9], { quizzes: [5, 6, 7] }],
    [{ $map: { input: [1, 2], in: '$$this' } }, [1, 2]],
    [{ $map: { input: [{ a: 1 }, {}], as: 'x', in: '$$x.a' } }, [1, null]],
    [{ $map: { input: [], in: 1 } }, []],
    [{ $map: { input: null, in: 1 } }, null],
    [{ $map: { input: 'x', in: 1 } }, fails(16883)],
    [{ $map: { in: 1 } }, fails(16880)],
    [{ $map: { input: [] } }, fails(16882)],
    [{ $map: { input: [1], as: 'X', in: 1 } }, fails(9)],
  ],
  $range: [
    [{ $range: [0, 10, 2] }, [0, 2, 4, 6, 8]],
    [{ $range: [10, 0, -2] }, [10, 8, 6, 4, 2]],
    [{ $range: [0, 10, -2] }, []],
    [{ $range: [0, 5] }, [0, 1, 2, 3, 4]],
    [{ $range: ['x', 5] }, fails(34443)],
    [{ $range: [0.5, 5] }, fails(34444)],
    [{ $range: [0, null] }, fails(34445)],
    [{ $range: [0, 5, 0] }, fails(34449)],
    [{ $range: [0, 2_000_000_000] }, fails(146)],
  ],
  $reduce: [
    [{ $reduce: { input: ['a', 'b', 'c'], initialValue: '', in: { $concat: ['$$value', '$$this'] } } }, 'abc'],
    [
      {
        $reduce: {
          input: [1, 2, 3, 4],
          initialValue: { sum: 5, product: 2 },
          in: { sum: { $add: ['$$value.sum', '$$this'] }, product: { $multiply: ['$$value.product', '$$this'] } },
        },
      },
      { sum: 15, product: 48 },
    ],
    [
      {
        $reduce: {
          input: [
            [3, 4],
            [5, 6],
          ],
          initialValue: [1, 2],
          in: { $concatArrays: ['$$value', '$$this'] },
        },
      },
      [1, 2, 3, 4, 5, 6],
    ],
    [{ $reduce: { input: [], initialValue: 'x', in: 1 } }, 'x'],
    [{ $reduce: { input: null, initialValue: 0, in: 1 } }, null],
    [{ $reduce: { input: 1, initialValue: 0, in: 1 } }, fails(40080)],
    [{ $reduce: { input: [], in: 1 } }, fails(40078)],
    [{ $reduce: 1 }, fails(40075)],
  ],
  $reverseArray: [
    [{ $reverseArray: [[1, 2, 3]] }, [3, 2, 1]],
    [{ $reverseArray: { $slice: [['foo', 'bar', 'baz', 'qux'], 1, 2] } }, ['baz', 'bar']],
    [
      {
        $reverseArray: [
          [
            [1, 2, 3],
            [4, 5, 6],
          ],
        ],
      },
      [
        [4, 5, 6],
        [1, 2, 3],
      ],
    ],
    [{ $reverseArray: null }, null],
    [{ $reverseArray: [[]] }, []],
    [{ $reverseArray: [1] }, fails(34435)],
  ],
  $size: [
    [{ $size: '$colors' }, 3, { colors: ['blue', 'black', 'red'] }],
    [{ $size: [[]] }, 0],
    [{ $size: '$missing' }, fails(17124)],
    [{ $size: 'x' }, fails(17124)],
  ],
  $slice: [
    [{ $slice: [[1, 2, 3], 1, 1] }, [2]],
    [{ $slice: [[1, 2, 3], -2] }, [2, 3]],
    [{ $slice: [[1, 2, 3], 15, 2] }, []],
    [{ $slice: [[1, 2, 3], -15, 2] }, [1, 2]],
    [{ $slice: [[1, 2, 3], 2] }, [1, 2]],
    [{ $slice: [null, 2] }, null],
    [{ $slice: [[1], 1, null] }, null],
    [{ $slice: [1, 2] }, fails(28724)],
    [{ $slice: [[1], 'x'] }, fails(28725)],
    [{ $slice: [[1], 0, 0] }, fails(28729)],
    [{ $slice: [[1]] }, fails(28667)],
  ],
  $sortArray: [
    [
      { $sortArray: { input: '$team', sortBy: { name: 1 } } },
      [
        { name: 'charlie', age: 42 },
        { name: 'pat', age: 30 },
      ],
      {
        team: [
          { name: 'pat', age: 30 },
          { name: 'charlie', age: 42 },
        ],
      },
    ],
    [
      { $sortArray: { input: '$team', sortBy: { age: -1, name: 1 } } },
      [
        { age: 42, name: 'a' },
        { age: 30, name: 'b' },
        { age: 30, name: 'c' },
      ],
      {
        team: [
          { age: 30, name: 'c' },
          { age: 30, name: 'b' },
          { age: 42, name: 'a' },
        ],
      },
    ],
    [
      {
        $sortArray: {
          input: [
            20,
            4,
            { a: 'Free' },
            6,
            21,
            5,
            'Gratis',
            { a: null },
            { a: { sale: true, price: 19 } },
            decimal('10.23'),
            { a: 'On sale' },
          ],
          sortBy: 1,
        },
      },
      [
        4,
        5,
        6,
        decimal('10.23'),
        20,
        21,
        'Gratis',
        { a: null },
        { a: 'Free' },
        { a: 'On sale' },
        { a: { sale: true, price: 19 } },
      ],
    ],
    [{ $sortArray: { input: null, sortBy: 1 } }, null],
    [{ $sortArray: { input: [], sortBy: -1 } }, []],
    [{ $sortArray: { input: 1, sortBy: 1 } }, fails(2942504)],
    [{ $sortArray: { input: [1], sortBy: 2 } }, fails(2942506)],
    [{ $sortArray: { input: [1], sortBy: 'x' } }, fails(2942507)],
    [{ $sortArray: { input: [1], sortBy: {} } }, fails(2942505)],
    [{ $sortArray: { sortBy: 1 } }, fails(2942502)],
  ],
  $zip: [
    [{ $zip: { inputs: [['a'], ['b'], ['c']] } }, [['a', 'b', 'c']]],
    [
      { $zip: { inputs: [[1], [2, 3]], useLongestLength: true } },
      [
        [1, 2],
        [null, 3],
      ],
    ],
    [
      { $zip: { inputs: [[1], [2, 3]], useLongestLength: true, defaults: ['x', 'y'] } },
      [
        [1, 2],
        ['x', 3],
      ],
    ],
    [{ $zip: { inputs: [[1, 2, 3], [4]] } }, [[1, 4]]],
    [{ $zip: { inputs: [[1], null] } }, null],
    [{ $zip: { inputs: [[1], 2] } }, fails(34468)],
    [{ $zip: { inputs: [] } }, fails(34465)],
    [{ $zip: { inputs: [[1]], defaults: [1] } }, fails(34466)],
    [{ $zip: { inputs: [[1]], defaults: [1, 2], useLongestLength: true } }, fails(34467)],
    [{ $zip: { inputs: 1 } }, fails(34461)],
  ],
}

export const setCases: ExpressionCases = {
  $setDifference: [
    [
      {
        $setDifference: [
          ['a', 'b', 'a'],
          ['b', 'a'],
        ],
      },
      [],
    ],
    [{ $setDifference: [['a', 'b'], [['a', 'b']]] }, ['a', 'b']],
    [{ $setDifference: [[3, 1, 3, 2], [1]] }, [3, 2]],
    [{ $setDifference: [null, [1]] }, null],
    [{ $setDifference: [1, [1]] }, fails(17048)],
    [{ $setDifference: [[1], 1] }, fails(17049)],
  ],
  $setEquals: [
    [
      {
        $setEquals: [
          ['a', 'b', 'a'],
          ['b', 'a'],
        ],
      },
      true,
    ],
    [{ $setEquals: [['a', 'b'], [['a', 'b']]] }, false],
    [
      {
        $setEquals: [
          [1, 2],
          [decimal('2'), 1],
          [2, 1, 1],
        ],
      },
      true,
    ],
    [{ $setEquals: [[]] }, fails(17045)],
    [{ $setEquals: [[1], null] }, fails(17044)],
  ],
  $setIntersection: [
    [
      {
        $setIntersection: [
          ['a', 'b', 'a'],
          ['b', 'a'],
        ],
      },
      ['a', 'b'],
    ],
    [{ $setIntersection: [['a', 'b'], [['a', 'b']]] }, []],
    [{ $setIntersection: [[3, 2, 1], [1, 2], [2]] }, [2]],
    [{ $setIntersection: [[1], '$missing'] }, null],
    [{ $setIntersection: [[1], 1] }, fails(17047)],
    [{ $setIntersection: [] }, []],
  ],
  $setIsSubset: [
    [
      {
        $setIsSubset: [
          ['a', 'b', 'a'],
          ['b', 'a'],
        ],
      },
      true,
    ],
    [{ $setIsSubset: [['a', 'b'], [['a', 'b']]] }, false],
    [{ $setIsSubset: [[], [1]] }, true],
    [{ $setIsSubset: [null, [1]] }, fails(17046)],
    [{ $setIsSubset: [[1], null] }, fails(17042)],
  ],
  $setUnion: [
    [
      {
        $setUnion: [
          ['a', 'b', 'a'],
          ['b', 'a'],
        ],
      },
      ['a', 'b'],
    ],
    [{ $setUnion: [['a', 'b'], [['a', 'b']]] }, ['a', 'b', ['a', 'b']]],
    [{ $setUnion: [[2], [double(1), 1]] }, [double(1), 2]],
    [{ $setUnion: [[1], null] }, null],
    [{ $setUnion: [[1], 'x'] }, fails(17043)],
  ],
}

export const objectCases: ExpressionCases = {
  $arrayToObject: [
    [
      {
        $arrayToObject: [
          [
            ['item', 'abc123'],
            ['qty', 25],
          ],
        ],
      },
      { item: 'abc123', qty: 25 },
    ],
    [
      {
        $arrayToObject: {
          $literal: [
            { k: 'item', v: 'abc123' },
            { k: 'qty', v: 25 },
          ],
        },
      },
      { item: 'abc123', qty: 25 },
    ],
    [
      {
        $arrayToObject: [
          [
            ['a', 1],
            ['a', 2],
          ],
        ],
      },
      { a: 2 },
    ],
    [
      {
        $arrayToObject: [
          [
            ['10', 1],
            ['2', 2],
          ],
        ],
      },
      new Map([
        ['10', 1],
        ['2', 2],
      ]),
    ],
    [{ $arrayToObject: [[]] }, {}],
    [{ $arrayToObject: null }, null],
    [{ $arrayToObject: 'x' }, fails(40386)],
    [{ $arrayToObject: [[['a', 1], { k: 'b', v: 1 }]] }, fails(40396)],
    [{ $arrayToObject: [[{ k: 'b', v: 1 }, ['a', 1]]] }, fails(40391)],
    [{ $arrayToObject: [[['a']]] }, fails(40397)],
    [{ $arrayToObject: [[[1, 1]]] }, fails(40395)],
    [{ $arrayToObject: [[{ k: 'a' }]] }, fails(40392)],
    [{ $arrayToObject: [[{ k: 'a', x: 1 }]] }, fails(40393)],
    [{ $arrayToObject: [[{ k: 1, v: 1 }]] }, fails(40394)],
    [{ $arrayToObject: [[1]] }, fails(40398)],
  ],
  $getField: [
    [{ $getField: 'price.usd' }, 45.99, { 'price.usd': 45.99 }],
    [{ $getField: { $literal: '$price' } }, 1, { $price: 1 }],
    [{ $getField: { field: 'b', input: '$a' } }, 2, { a: { b: 2 } }],
    [{ $getField: { field: 'b', input: 5 } }, missing],
    [{ $getField: { field: 'b', input: null } }, null],
    [{ $getField: '$a' }, fails(5654600)],
    [{ $getField: { field: { $concat: ['$a'] }, input: {} } }, fails(5654601)],
    [{ $getField: 5 }, fails(5654602)],
    [{ $getField: { field: 'a' } }, fails(3041703)],
  ],
  $setField: [
    [
      { $setField: { field: 'price.usd', input: '$$ROOT', value: '$price' } },
      { price: 45.99, 'price.usd': 45.99 },
      { price: 45.99 },
    ],
    [{ $setField: { field: 'a', input: { a: 1, b: 2 }, value: '$$REMOVE' } }, { b: 2 }],
    [{ $setField: { field: 'a', input: { a: 1, b: 2 }, value: 3 } }, { a: 3, b: 2 }],
    [{ $setField: { field: 'a', input: null, value: 3 } }, null],
    [{ $setField: { field: 'a', input: 1, value: 3 } }, fails(4161105)],
    [{ $setField: { field: '$a', input: {}, value: 3 } }, fails(4161108)],
    [{ $setField: { field: 'a', input: {} } }, fails(4161103)],
    [{ $setField: 1 }, fails(4161100)],
  ],
  $unsetField: [
    [{ $unsetField: { field: 'a', input: { a: 1, b: 2 } } }, { b: 2 }],
    [{ $unsetField: { field: 'a.b', input: '$$ROOT' } }, { c: 1 }, { 'a.b': 1, c: 1 }],
    [{ $unsetField: { field: 'x', input: '$missing' } }, null],
    [{ $unsetField: { field: 'x', input: {}, value: 1 } }, fails(4161101)],
  ],
  $mergeObjects: [
    [{ $mergeObjects: [{ a: 1 }, null] }, { a: 1 }],
    [{ $mergeObjects: [null, null] }, {}],
    [{ $mergeObjects: [{ a: 1 }, { a: 2, b: 2 }, { a: 3, c: 3 }] }, { a: 3, b: 2, c: 3 }],
    [{ $mergeObjects: '$list' }, { a: 1, b: 2 }, { list: [{ a: 1 }, { b: 2 }] }],
    [{ $mergeObjects: '$missing' }, {}],
    [{ $mergeObjects: [{ a: 1 }, 5] }, fails(40400)],
  ],
  $objectToArray: [
    [
      { $objectToArray: { item: 'foo', qty: 25 } },
      [
        { k: 'item', v: 'foo' },
        { k: 'qty', v: 25 },
      ],
    ],
    [{ $objectToArray: '$dimensions' }, [{ k: 'l', v: 25 }], { dimensions: { l: 25 } }],
    [{ $objectToArray: {} }, []],
    [{ $objectToArray: '$missing' }, null],
    [{ $objectToArray: [[1]] }, fails(40390)],
  ],
}
