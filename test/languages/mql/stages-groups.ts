/** Cases of stages that must see all documents. Sources: the manual, and MongoDB's own tests. */

import { BSONRegExp, MaxKey, MinKey } from 'bson'
import { decimal, double, fails, long, type StageCases } from './aggregate-case.ts'

const artists = [
  { _id: 1, last_name: 'Bernard', first_name: 'Emil', year_born: 1868 },
  { _id: 2, last_name: 'Rippl-Ronai', first_name: 'Joszef', year_born: 1861 },
  { _id: 3, last_name: 'Ostroumova', first_name: 'Anna', year_born: 1871 },
  { _id: 4, last_name: 'Van Gogh', first_name: 'Vincent', year_born: 1853 },
  { _id: 5, last_name: 'Maurer', first_name: 'Alfred', year_born: 1868 },
  { _id: 6, last_name: 'Munch', first_name: 'Edvard', year_born: 1863 },
  { _id: 7, last_name: 'Redon', first_name: 'Odilon', year_born: 1840 },
  { _id: 8, last_name: 'Diriks', first_name: 'Edvard', year_born: 1855 },
]

const artwork = [
  {
    _id: 1,
    title: 'The Pillars of Society',
    year: 1926,
    price: decimal('199.99'),
    dimensions: { height: 39, width: 21 },
  },
  { _id: 2, title: 'Melancholy III', year: 1902, price: decimal('280.00'), dimensions: { height: 49, width: 32 } },
  { _id: 3, title: 'Dancer', year: 1925, price: decimal('76.04'), dimensions: { height: 25, width: 20 } },
  { _id: 4, title: 'The Great Wave off Kanagawa', price: decimal('167.30'), dimensions: { height: 24, width: 36 } },
  {
    _id: 5,
    title: 'The Persistence of Memory',
    year: 1931,
    price: decimal('483.00'),
    dimensions: { height: 20, width: 24 },
  },
  { _id: 6, title: 'Composition VII', year: 1913, price: decimal('385.00'), dimensions: { height: 30, width: 46 } },
  { _id: 7, title: 'The Scream', price: decimal('159.00'), dimensions: { height: 24, width: 18 } },
  { _id: 8, title: 'Blue Flower', year: 1918, price: decimal('118.42'), dimensions: { height: 24, width: 20 } },
]

const places = [
  { _id: 1, name: 'Central Park', location: { type: 'Point', coordinates: [-73.97, 40.77] }, category: 'Parks' },
  {
    _id: 8,
    name: 'Sara D. Roosevelt Park',
    location: { type: 'Point', coordinates: [-73.9928, 40.7193] },
    category: 'Parks',
  },
  { _id: 9, name: 'Polo Grounds', location: { type: 'Point', coordinates: [-73.9375, 40.8303] }, category: 'Stadiums' },
]

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => ({ _id: first + i }))
const bucket = (min: unknown, max: unknown, count: number) => ({ _id: { min, max }, count })

export const groupStageCases: StageCases = {
  $group: [
    {
      name: 'by nothing',
      pipeline: [{ $group: { _id: null, total: { $sum: '$a' } } }],
      documents: [{ a: 1 }, { a: 2 }],
      results: [{ _id: null, total: 3 }],
    },
    {
      name: 'by a field; missing counts as null',
      pipeline: [{ $group: { _id: '$a' } }],
      documents: [{ a: 1 }, {}, { a: null }, { a: 1 }],
      results: [{ _id: 1 }, { _id: null }],
      isUnordered: true,
    },
    {
      name: 'equal numbers are one group, of whatever type',
      pipeline: [{ $group: { _id: '$a', n: { $sum: 1 } } }],
      documents: [{ a: 1 }, { a: long(1) }, { a: double(1) }, { a: decimal('1.00') }],
      results: [{ _id: 1, n: 4 }],
    },
    {
      name: 'by a document; missing fields are missing there',
      pipeline: [{ $group: { _id: { a: '$a', b: '$b' }, n: { $sum: 1 } } }, { $sort: { n: 1 } }],
      documents: [{ a: 1, b: 'ü' }, { a: 1, b: 'ü' }, { a: 1 }],
      results: [
        { _id: { a: 1 }, n: 1 },
        { _id: { a: 1, b: 'ü' }, n: 2 },
      ],
    },
    {
      name: 'by an array as a whole',
      pipeline: [{ $group: { _id: '$a', n: { $sum: 1 } } }, { $sort: { n: -1 } }],
      documents: [{ a: [1, 2] }, { a: [1, 2] }, { a: [2, 1] }],
      results: [
        { _id: [1, 2], n: 2 },
        { _id: [2, 1], n: 1 },
      ],
    },
    { name: 'nothing', pipeline: [{ $group: { _id: null, n: { $sum: 1 } } }], results: [] },
    { name: 'needs _id', pipeline: [{ $group: { n: { $sum: 1 } } }], error: fails(15955) },
    { name: 'must be a document', pipeline: [{ $group: 1 }], error: fails(15947) },
    { name: 'fields are accumulators', pipeline: [{ $group: { _id: 1, n: '$a' } }], error: fails(40234) },
    { name: 'an unknown accumulator', pipeline: [{ $group: { _id: 1, n: { $add: [1] } } }], error: fails(15952) },
    { name: 'a name with a dot', pipeline: [{ $group: { _id: 1, 'n.m': { $sum: 1 } } }], error: fails(40235) },
    { name: 'two accumulators', pipeline: [{ $group: { _id: 1, n: { $sum: 1, $avg: 1 } } }], error: fails(40238) },
    { name: 'an _id like a projection', pipeline: [{ $group: { _id: { a: 1 } } }], error: fails(17390) },
  ],
  $sort: [
    {
      name: 'ascending, over all types',
      pipeline: [{ $project: { _id: 0 } }, { $sort: { a: 1 } }],
      documents: [
        { a: new MaxKey() },
        { a: 'a' },
        { a: 1 },
        { a: null },
        { a: { b: 1 } },
        { a: true },
        { a: new BSONRegExp('x') },
        { a: new Date(0) },
        { a: new MinKey() },
        { a: [] },
        { a: decimal('0.5') },
      ],
      results: [
        { a: new MinKey() },
        { a: [] },
        { a: null },
        { a: decimal('0.5') },
        { a: 1 },
        { a: 'a' },
        { a: { b: 1 } },
        { a: true },
        { a: new Date(0) },
        { a: new BSONRegExp('x') },
        { a: new MaxKey() },
      ],
    },
    {
      name: 'by several fields, stable',
      pipeline: [{ $addFields: {} }, { $sort: { a: -1, b: 1 } }],
      documents: [
        { _id: 1, a: 1, b: 2 },
        { _id: 2, a: 2, b: 1 },
        { _id: 3, a: 1, b: 1 },
        { _id: 4, a: 1, b: 2 },
      ],
      results: [
        { _id: 2, a: 2, b: 1 },
        { _id: 3, a: 1, b: 1 },
        { _id: 1, a: 1, b: 2 },
        { _id: 4, a: 1, b: 2 },
      ],
    },
    {
      name: 'of an array the smallest element counts, or descending the largest',
      pipeline: [{ $addFields: {} }, { $sort: { a: -1 } }],
      documents: [{ a: [1, 9] }, { a: 5 }, { a: [] }],
      results: [{ a: [1, 9] }, { a: 5 }, { a: [] }],
    },
    {
      name: 'with a limit after it',
      pipeline: [{ $addFields: {} }, { $sort: { _id: -1 } }, { $skip: 1 }, { $limit: 2 }],
      documents: range(1, 50),
      results: [{ _id: 49 }, { _id: 48 }],
    },
    { name: 'must be a document', pipeline: [{ $sort: 'a' }], error: fails(15973) },
    { name: 'must not be empty', pipeline: [{ $sort: {} }], error: fails(15976) },
    { name: 'an order that is none', pipeline: [{ $sort: { a: 2 } }], error: fails(15975) },
    { name: 'an order that is no number', pipeline: [{ $sort: { a: 'x' } }], error: fails(15974) },
  ],
  $sortByCount: [
    {
      name: 'the most frequent first',
      pipeline: [{ $unwind: '$tags' }, { $sortByCount: '$tags' }],
      documents: [{ tags: ['painting', 'oil'] }, { tags: ['oil'] }, { tags: ['oil', 'painting', 'woodcut'] }],
      results: [
        { _id: 'oil', count: 3 },
        { _id: 'painting', count: 2 },
        { _id: 'woodcut', count: 1 },
      ],
    },
    {
      name: 'by an expression',
      pipeline: [{ $sortByCount: { $mod: ['$_id', 3] } }, { $match: { count: { $gt: 3 } } }],
      documents: range(0, 9),
      results: [{ _id: 0, count: 4 }],
    },
    { name: 'nothing', pipeline: [{ $sortByCount: '$a' }], results: [] },
    { name: 'a string that is no path', pipeline: [{ $sortByCount: 'a' }], error: fails(40148) },
    { name: 'a document that is no expression', pipeline: [{ $sortByCount: { a: 1 } }], error: fails(40147) },
    { name: 'a number', pipeline: [{ $sortByCount: 1 }], error: fails(40149) },
  ],
  $count: [
    {
      name: 'counts',
      pipeline: [{ $match: { _id: { $gt: 80 } } }, { $count: 'passing' }],
      documents: range(78, 84),
      results: [{ passing: 4 }],
    },
    { name: 'of nothing there is no document', pipeline: [{ $count: 'n' }], results: [] },
    { name: 'must be a string', pipeline: [{ $count: 1 }], error: fails(40156) },
    { name: 'must not be empty', pipeline: [{ $count: '' }], error: fails(40157) },
    { name: 'must be no path', pipeline: [{ $count: '$a' }], error: fails(40158) },
    { name: 'must have no dot', pipeline: [{ $count: 'a.b' }], error: fails(40160) },
  ],
  $bucket: [
    {
      name: 'by ranges, with an output',
      pipeline: [
        {
          $bucket: {
            groupBy: '$year_born',
            boundaries: [1840, 1850, 1860, 1870, 1880],
            default: 'Other',
            output: {
              count: { $sum: 1 },
              artists: { $push: { name: { $concat: ['$first_name', ' ', '$last_name'] }, year_born: '$year_born' } },
            },
          },
        },
        { $match: { count: { $gt: 3 } } },
      ],
      documents: artists,
      results: [
        {
          _id: 1860,
          count: 4,
          artists: [
            { name: 'Emil Bernard', year_born: 1868 },
            { name: 'Joszef Rippl-Ronai', year_born: 1861 },
            { name: 'Alfred Maurer', year_born: 1868 },
            { name: 'Edvard Munch', year_born: 1863 },
          ],
        },
      ],
    },
    {
      name: 'values outside all ranges go to the default',
      pipeline: [{ $bucket: { groupBy: '$a', boundaries: [0, 10], default: 'Other' } }],
      documents: [{ a: 0 }, { a: 9.5 }, { a: 10 }, { a: -1 }, { a: 'x' }, {}],
      results: [
        { _id: 0, count: 2 },
        { _id: 'Other', count: 4 },
      ],
    },
    { name: 'nothing', pipeline: [{ $bucket: { groupBy: '$a', boundaries: [0, 10] } }], results: [] },
    {
      name: 'a value outside all ranges without a default',
      pipeline: [{ $bucket: { groupBy: '$a', boundaries: [0, 10] } }],
      documents: [{ a: 11 }],
      error: fails(40066),
    },
    { name: 'one boundary', pipeline: [{ $bucket: { groupBy: '$a', boundaries: [0] } }], error: fails(40192) },
    {
      name: 'boundaries out of order',
      pipeline: [{ $bucket: { groupBy: '$a', boundaries: [1, 0] } }],
      error: fails(40194),
    },
    {
      name: 'boundaries of different types',
      pipeline: [{ $bucket: { groupBy: '$a', boundaries: [0, 'x'] } }],
      error: fails(40193),
    },
    {
      name: 'boundaries that vary',
      pipeline: [{ $bucket: { groupBy: '$a', boundaries: [0, '$b'] } }],
      error: fails(40191),
    },
    {
      name: 'a default within',
      pipeline: [{ $bucket: { groupBy: '$a', boundaries: [0, 10], default: 5 } }],
      error: fails(40199),
    },
    {
      name: 'a constant to group by',
      pipeline: [{ $bucket: { groupBy: 5, boundaries: [0, 10] } }],
      error: fails(40202),
    },
    { name: 'without boundaries', pipeline: [{ $bucket: { groupBy: '$a' } }], error: fails(40198) },
    { name: 'an unknown option', pipeline: [{ $bucket: { groupBy: '$a', x: 1 } }], error: fails(40197) },
    { name: 'must be a document', pipeline: [{ $bucket: 1 }], error: fails(40201) },
  ],
  $bucketAuto: [
    {
      name: 'four buckets of prices',
      pipeline: [{ $bucketAuto: { groupBy: '$price', buckets: 4 } }],
      documents: artwork,
      results: [
        bucket(decimal('76.04'), decimal('159.00'), 2),
        bucket(decimal('159.00'), decimal('199.99'), 2),
        bucket(decimal('199.99'), decimal('385.00'), 2),
        bucket(decimal('385.00'), decimal('483.00'), 2),
      ],
    },
    {
      name: 'with an output, and missing values',
      pipeline: [
        { $bucketAuto: { groupBy: '$year', buckets: 3, output: { count: { $sum: 1 }, years: { $push: '$year' } } } },
      ],
      documents: artwork,
      results: [
        { _id: { min: null, max: 1913 }, count: 3, years: [1902] },
        { _id: { min: 1913, max: 1926 }, count: 3, years: [1913, 1918, 1925] },
        { _id: { min: 1926, max: 1931 }, count: 2, years: [1926, 1931] },
      ],
    },
    {
      name: 'an unequal last bucket',
      pipeline: [
        {
          $bucketAuto: {
            groupBy: { $multiply: ['$dimensions.height', '$dimensions.width'] },
            buckets: 4,
            output: { count: { $sum: 1 }, titles: { $push: '$title' } },
          },
        },
      ],
      documents: artwork,
      results: [
        { _id: { min: 432, max: 500 }, count: 3, titles: ['The Scream', 'The Persistence of Memory', 'Blue Flower'] },
        { _id: { min: 500, max: 864 }, count: 2, titles: ['Dancer', 'The Pillars of Society'] },
        { _id: { min: 864, max: 1568 }, count: 2, titles: ['The Great Wave off Kanagawa', 'Composition VII'] },
        { _id: { min: 1568, max: 1568 }, count: 1, titles: ['Melancholy III'] },
      ],
    },
    {
      name: 'the series R20',
      pipeline: [{ $bucketAuto: { groupBy: '$_id', buckets: 5, granularity: 'R20' } }],
      documents: range(0, 99),
      results: [
        bucket(0, double(20), 20),
        bucket(double(20), double(40), 20),
        bucket(double(40), double(63), 23),
        bucket(double(63), double(90), 27),
        bucket(double(90), double(100), 10),
      ],
    },
    {
      name: 'the series 1-2-5',
      pipeline: [{ $bucketAuto: { groupBy: '$_id', buckets: 5, granularity: '1-2-5' } }],
      documents: range(0, 99),
      results: [bucket(0, double(20), 20), bucket(double(20), double(50), 30), bucket(double(50), double(100), 50)],
    },
    {
      name: 'powers of two',
      pipeline: [{ $bucketAuto: { groupBy: '$_id', buckets: 5, granularity: 'POWERSOF2' } }],
      documents: range(0, 99),
      results: [bucket(0, 32, 32), bucket(32, 64, 32), bucket(64, 128, 36)],
    },
    { name: 'nothing', pipeline: [{ $bucketAuto: { groupBy: '$a', buckets: 2 } }], results: [] },
    { name: 'no buckets', pipeline: [{ $bucketAuto: { groupBy: '$a', buckets: 0 } }], error: fails(40243) },
    { name: 'half a bucket', pipeline: [{ $bucketAuto: { groupBy: '$a', buckets: 1.5 } }], error: fails(40242) },
    { name: 'without groupBy', pipeline: [{ $bucketAuto: { buckets: 2 } }], error: fails(40246) },
    {
      name: 'an unknown series',
      pipeline: [{ $bucketAuto: { groupBy: '$a', buckets: 2, granularity: 'R6' } }],
      error: fails(40257),
    },
    {
      name: 'a series of values that are not numbers',
      pipeline: [{ $bucketAuto: { groupBy: '$a', buckets: 2, granularity: 'R5' } }],
      documents: [{ a: 'x' }],
      error: fails(40258),
    },
    {
      name: 'a series of negative numbers',
      pipeline: [{ $bucketAuto: { groupBy: '$a', buckets: 2, granularity: 'R5' } }],
      documents: [{ a: -1 }],
      error: fails(40260),
    },
  ],
  $facet: [
    {
      name: 'several pipelines over the same documents',
      pipeline: [
        {
          $facet: {
            byTags: [{ $unwind: '$tags' }, { $sortByCount: '$tags' }],
            first: [{ $limit: 1 }, { $project: { tags: 0 } }],
            none: [{ $match: { a: 9 } }],
            all: [{ $count: 'n' }],
          },
        },
      ],
      documents: [
        { _id: 1, tags: ['a'] },
        { _id: 2, tags: ['b', 'a'] },
        { _id: 3, tags: [] },
      ],
      results: [
        {
          byTags: [
            { _id: 'a', count: 2 },
            { _id: 'b', count: 1 },
          ],
          first: [{ _id: 1 }],
          none: [],
          all: [{ n: 3 }],
        },
      ],
    },
    { name: 'of nothing', pipeline: [{ $facet: { a: [] } }], results: [{ a: [] }] },
    {
      name: 'after and before other stages',
      pipeline: [
        { $match: { _id: { $lt: 300 } } },
        { $facet: { a: [{ $count: 'n' }], b: [{ $skip: 298 }] } },
        { $project: { n: { $first: '$a.n' }, b: 1 } },
      ],
      documents: range(0, 600),
      results: [{ b: [{ _id: 298 }, { _id: 299 }], n: 300 }],
    },
    {
      name: 'an error in one of them',
      pipeline: [{ $facet: { a: [{ $project: { x: { $divide: [1, '$_id'] } } }], b: [] } }],
      documents: range(0, 600),
      error: fails(2),
    },
    { name: 'must not be empty', pipeline: [{ $facet: {} }], error: fails(40169) },
    { name: 'must be arrays', pipeline: [{ $facet: { a: 1 } }], error: fails(40170) },
    { name: 'of documents', pipeline: [{ $facet: { a: [1] } }], error: fails(40171) },
    { name: 'not within another', pipeline: [{ $facet: { a: [{ $facet: { b: [] } }] } }], error: fails(40600) },
    { name: 'not with $out', pipeline: [{ $facet: { a: [{ $out: 'x' }] } }], error: fails(40600) },
  ],
  $sample: [
    {
      name: 'more than there are',
      pipeline: [{ $sample: { size: 5 } }],
      documents: range(1, 3),
      results: range(1, 3),
      isUnordered: true,
    },
    {
      name: 'as many as asked for',
      pipeline: [{ $sample: { size: 2 } }, { $count: 'n' }],
      documents: range(1, 30),
      results: [{ n: 2 }],
    },
    { name: 'of nothing', pipeline: [{ $sample: { size: 2 } }], results: [] },
    { name: 'must have a size', pipeline: [{ $sample: {} }], error: fails(28749) },
    { name: 'must be a document', pipeline: [{ $sample: 1 }], error: fails(28745) },
    { name: 'must not be negative', pipeline: [{ $sample: { size: -1 } }], error: fails(28747) },
    { name: 'must be a number', pipeline: [{ $sample: { size: 'x' } }], error: fails(28746) },
    { name: 'an unknown option', pipeline: [{ $sample: { size: 1, x: 1 } }], error: fails(28748) },
  ],
  $geoNear: [
    {
      name: 'up to a maximum distance',
      pipeline: [
        {
          $geoNear: {
            near: { type: 'Point', coordinates: [-73.99279, 40.719296] },
            key: 'location',
            distanceField: 'dist.calculated',
            maxDistance: 2,
            query: { category: 'Parks' },
            includeLocs: 'dist.location',
            spherical: true,
          },
        },
        { $set: { 'dist.calculated': { $round: ['$dist.calculated', 6] } } },
      ],
      documents: places,
      results: [{ ...places[1]!, dist: { calculated: 0.953993, location: places[1]!.location } }],
    },
    {
      name: 'in radians from a pair of numbers that is a variable',
      pipeline: [
        {
          $geoNear: {
            near: '$$pt',
            key: 'location',
            distanceField: 'distance',
            query: { category: 'Parks' },
            spherical: true,
          },
        },
        { $project: { _id: 0, name: 1, distance: { $round: ['$distance', 15] } } },
      ],
      let: { pt: [-73.99279, 40.719296] },
      documents: places,
      results: [
        { name: 'Sara D. Roosevelt Park', distance: 1.49573253e-7 },
        { name: 'Central Park', distance: 0.000934854868884 },
      ],
    },
    {
      name: 'in the plane, with a factor and a limit after it',
      pipeline: [
        { $geoNear: { near: [0, 0], key: 'p', distanceField: 'd', distanceMultiplier: 10, minDistance: 2 } },
        { $limit: 1 },
      ],
      documents: [{ _id: 1, p: [3, 4] }, { _id: 2, p: [1, 1] }, { _id: 3, p: [30, 40] }, { _id: 4 }],
      results: [{ _id: 1, p: [3, 4], d: double(50) }],
    },
    { name: 'needs a point', pipeline: [{ $geoNear: { key: 'p', distanceField: 'd' } }], error: fails(5860400) },
    { name: 'needs a field', pipeline: [{ $geoNear: { near: [0, 0], key: 'p' } }], error: fails(16606) },
    {
      name: 'needs an index or a key',
      pipeline: [{ $geoNear: { near: [0, 0], distanceField: 'd' } }],
      error: fails(27),
    },
    {
      name: 'has no limit',
      pipeline: [{ $geoNear: { near: [0, 0], distanceField: 'd', limit: 1 } }],
      error: fails(50858),
    },
    { name: 'must come first', pipeline: [{ $limit: 1 }, { $geoNear: {} }], error: fails(40602) },
  ],
}
