"""Print the area of a few shapes."""

from shapes.circle import Circle
from shapes.square import Square


def main():
    for shape in (Circle(1), Square(2)):
        print(type(shape).__name__, round(shape.area(), 3))


if __name__ == "__main__":
    main()
