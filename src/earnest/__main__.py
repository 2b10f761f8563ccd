"""`python -m earnest`: the same as the command `earnest`."""

from earnest.surfaces.cli.main import main

if __name__ == "__main__":
    main()
